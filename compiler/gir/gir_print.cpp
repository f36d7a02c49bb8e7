#include <sstream>

#include "compiler/gir/gir.h"
#include "compiler/ir/gir_scanner.h"
#include "compiler/ir/states.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using gir::quoted;
using gir::word_or_quoted;

template <class T, class Print>
std::string list(const std::vector<T>& items, const char* kind, Print print) {
  if (items.empty()) return concat(kind, "[]");
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ',';
    out += print(items[i]);
  }
  return out + "]";
}

std::string type_text(DType dtype, const std::optional<Shape>& shape) {
  if (dtype == DType::undefined && !shape) return "?";
  return concat(dtype == DType::undefined ? "?" : name_of(dtype), shape ? str(*shape) : std::string("[?]"));
}

std::string type_text(const Value& v) {
  std::string out = type_text(v.dtype, v.shape);
  if (v.contents) {
    std::string elements = str(*v.contents);
    elements.front() = '{';
    elements.back() = '}';
    out += elements;
  }
  if (v.stored != DType::undefined) out += concat(" as ", name_of(v.stored));
  if (v.channels_last) out += " channels_last";
  return out;
}

class Printer {
 public:
  explicit Printer(GirData data) : elide_(data == GirData::elided) {}

  void graph(const Graph& g, int depth) {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    out_ << indent << "graph " << word_or_quoted(g.name) << "(";
    for (size_t i = 0; i < g.inputs.size(); ++i)
      out_ << (i ? ", " : "") << use(g, g.inputs[i]) << ": " << type_text(g.value(g.inputs[i]));
    out_ << ") -> (";
    for (size_t i = 0; i < g.outputs.size(); ++i) out_ << (i ? ", " : "") << use(g, g.outputs[i]);
    out_ << ") {\n";
    std::set<ValueId> constants;
    for (NodeId id : g.order()) {
      for (ValueId in : g.node(id).inputs) constant(g, in, constants, indent);
      node(g, g.node(id), depth + 1);
    }
    for (ValueId out : g.outputs) constant(g, out, constants, indent);
    for (const State& s : g.states) state(g, s, indent);
    for (const DimConstraint& c : g.constraints)
      out_ << indent << "  assume " << c.a.str() << " == " << c.b.str() << " " << quoted(c.reason) << "\n";
    out_ << indent << "}\n";
  }

  std::string text() const { return out_.str(); }

 private:
  static std::string use(const Graph& g, ValueId v) {
    return v.valid() ? concat("%", word_or_quoted(g.value(v).name)) : std::string("_");
  }

  std::string tensor(const Tensor& t) const {
    return concat(type_text(t.dtype(), to_shape(t.shape())), gir::print_data(t, elide_));
  }

  void constant(const Graph& g, ValueId id, std::set<ValueId>& printed, const std::string& indent) {
    if (!id.valid() || !g.value(id).is_constant() || !printed.insert(id).second) return;
    out_ << indent << "  constant " << use(g, id) << ": " << type_text(g.value(id)) << " = "
         << gir::print_data(*g.value(id).constant, elide_) << "\n";
  }

  void state(const Graph& g, const State& s, const std::string& indent) {
    out_ << indent << "  state " << quoted(s.name) << " " << use(g, g.inputs[s.input]);
    if (is_written(s)) out_ << " -> " << use(g, g.outputs[s.output]);
    std::string options;
    const auto option = [&](const char* key, const auto& v) {
      options += concat(options.empty() ? "" : ", ", key, " = ", v);
    };
    if (s.axis >= 0) option("axis", s.axis);
    if (s.capacity > 0) option("capacity", s.capacity);
    if (s.in_place) option("in_place", 1);
    if (s.scope == StateScope::program) option("scope", quoted("program"));
    if (s.initial) option("initial", tensor(*s.initial));
    out_ << (options.empty() ? "" : concat(" {", options, "}")) << "\n";
  }

  std::string attribute(const Attribute& a) const {
    struct Visitor {
      const Printer& printer;
      std::string operator()(int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return gir::print_double(v); }
      std::string operator()(const std::string& v) const { return quoted(v); }
      std::string operator()(const TensorRef& v) const { return printer.tensor(*v); }
      std::string operator()(const std::vector<int64_t>& v) const {
        return list(v, "ints", [](int64_t x) { return std::to_string(x); });
      }
      std::string operator()(const std::vector<double>& v) const { return list(v, "floats", gir::print_double); }
      std::string operator()(const std::vector<std::string>& v) const { return list(v, "strings", quoted); }
    };
    return std::visit(Visitor{*this}, a);
  }

  void node(const Graph& g, const Node& n, int depth) {
    out_ << std::string(static_cast<size_t>(2 * depth), ' ');
    const std::string* default_name = nullptr;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const ValueId v = n.outputs[i];
      out_ << (i ? ", " : "") << use(g, v);
      if (!v.valid()) continue;
      out_ << ": " << type_text(g.value(v));
      if (!default_name) default_name = &g.value(v).name;
    }
    const std::string domain = n.op->domain;
    out_ << (n.outputs.empty() ? "" : " = ") << domain << (domain.empty() ? "" : ".") << n.op->name << "(";
    const size_t own = n.inputs.size() - static_cast<size_t>(n.captures);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      out_ << (i == own ? (i ? " | " : "| ") : i ? ", " : "") << use(g, n.inputs[i]);
    out_ << ")";
    if (!n.attributes.empty()) {
      out_ << " {";
      const char* separator = "";
      for (const auto& [key, a] : n.attributes) {
        out_ << separator << word_or_quoted(key) << " = " << attribute(a);
        separator = ", ";
      }
      out_ << "}";
    }
    if (!default_name || n.name != *default_name) out_ << " @" << quoted(n.name);
    out_ << "\n";
    for (const auto& body : n.bodies) graph(*body, depth + 1);
  }

  bool elide_;
  std::ostringstream out_;
};

}  // namespace

std::string print_graph(const Graph& graph, GirData data) {
  Printer printer(data);
  printer.graph(graph, 0);
  return printer.text();
}

}  // namespace gcg
