#include <algorithm>
#include <map>
#include <set>

#include "compiler/gir/gir.h"
#include "compiler/ir/gir_scanner.h"
#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

struct Type {
  bool written = false, channels_last = false;
  DType dtype = DType::undefined, stored = DType::undefined;
  std::optional<Shape> shape;
  std::optional<std::vector<Dim>> contents;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Graph whole() {
    Graph g = graph();
    if (in_.peek() != '\0') in_.fail("text after the end of the graph");
    if (untyped_) infer_graph(g);
    return g;
  }

 private:
  using Names = std::map<std::string, ValueId>;

  Graph graph() {
    if (!in_.take_text("graph")) in_.fail("expected 'graph'");
    Graph g;
    Names names;
    g.name = in_.word_or_quoted_text("a graph name");
    in_.expect('(');
    while (in_.peek() != ')') {
      const std::string name = value_name();
      g.inputs.push_back(define(g, names, name, type()));
      if (!in_.take(',')) break;
    }
    in_.expect(')');
    if (!in_.take_text("->")) in_.fail("expected '->'");
    in_.expect('(');
    std::vector<std::string> outputs;
    while (in_.peek() != ')') {
      outputs.push_back(value_name());
      if (!in_.take(',')) break;
    }
    in_.expect(')');
    in_.expect('{');
    std::vector<StateText> states;
    while (!in_.take('}')) {
      if (in_.at_word("state"))
        states.push_back(state());
      else
        statement(g, names);
    }
    for (const std::string& name : outputs) g.outputs.push_back(lookup(names, name));
    for (const StateText& text : states) g.states.push_back(resolved(g, names, text));
    return g;
  }

  struct StateText {
    State state;
    std::string input, output;
  };

  /// Parses 'state "name" %x -> %y {axis = 2}'. Without "-> %y" the state is only read.
  StateText state() {
    in_.take_text("state");
    StateText out;
    out.state.name = in_.quoted_text();
    out.input = value_name();
    if (in_.take_text("->")) out.output = value_name();
    if (!in_.take('{')) return out;
    Node options;
    attributes(options);
    out.state.axis = static_cast<int>(options.int_attribute("axis", -1));
    out.state.capacity = options.int_attribute("capacity", 0);
    out.state.in_place = options.int_attribute("in_place", 0) != 0;
    const std::string scope = options.string_attribute("scope", "session");
    if (scope != "session" && scope != "program") in_.fail("the scope of a state is \"session\" or \"program\"");
    if (scope == "program") out.state.scope = StateScope::program;
    out.state.initial = options.tensor_attribute("initial");
    return out;
  }

  State resolved(const Graph& g, const Names& names, const StateText& text) {
    State out = text.state;
    const auto position = [&](const std::vector<ValueId>& list, const std::string& name, const char* role) {
      const auto it = std::find(list.begin(), list.end(), lookup(names, name));
      if (it == list.end()) in_.fail(concat("%", name, " of state '", out.name, "' is not an ", role, " of the graph"));
      return static_cast<size_t>(it - list.begin());
    };
    out.input = position(g.inputs, text.input, "input");
    out.output = text.output.empty() ? kNotWritten : position(g.outputs, text.output, "output");
    return out;
  }

  std::string value_name() {
    in_.expect('%');
    return in_.word_or_quoted_text("a value name");
  }

  void check_fresh(const Names& names, const std::string& name) {
    if (names.count(name) != 0) in_.fail(concat("%", name, " is defined twice"));
  }

  ValueId define(Graph& g, Names& names, const std::string& name, const Type& t) {
    check_fresh(names, name);
    Value v;
    v.name = name;
    v.dtype = t.dtype;
    v.shape = t.shape;
    v.contents = t.contents;
    v.stored = t.stored;
    v.channels_last = t.channels_last;
    return names[name] = g.add_value(std::move(v));
  }

  ValueId lookup(const Names& names, const std::string& name) {
    const auto it = names.find(name);
    if (it == names.end()) in_.fail(concat("%", name, " is not defined"));
    return it->second;
  }

  DType dtype() {
    if (in_.take('?')) return DType::undefined;
    const std::string name = in_.word("an element type");
    const auto t = dtype_from_name(name);
    if (!t) in_.fail(concat("'", name, "' is not an element type"));
    return *t;
  }

  /// Parses ": type as dtype channels_last"; every part is optional.
  Type type() {
    Type t;
    if (in_.take(':')) written_type(t);
    if (in_.at_word("as")) {
      in_.take_text("as");
      t.stored = dtype();
    }
    t.channels_last = in_.at_word("channels_last");
    if (t.channels_last) in_.take_text("channels_last");
    return t;
  }

  void written_type(Type& t) {
    t.written = true;
    t.dtype = dtype();
    if (in_.peek() != '[') {
      if (t.dtype != DType::undefined) in_.fail("expected '['");
      return;
    }
    if (!in_.take_text("[?]")) t.shape = in_.dims('[', ']');
    if (in_.peek() == '{') t.contents = in_.dims('{', '}');
  }

  std::vector<int64_t> static_extents(const Shape& shape) {
    if (!is_static(shape)) in_.fail("constant data needs a static shape");
    for (const Dim& d : shape)
      if (d.constant() < 0) in_.fail(concat("the extent ", d.constant(), " is negative"));
    return to_extents(shape);
  }

  void statement(Graph& g, Names& names) {
    if (in_.at_word("constant")) {
      in_.take_text("constant");
      const std::string name = value_name();
      const Type t = type();
      if (!t.shape || t.dtype == DType::undefined) in_.fail("a constant needs a type");
      in_.expect('=');
      const ValueId v = define(g, names, name, t);
      g.value(v).constant = std::make_shared<const Tensor>(gir::parse_data(in_, t.dtype, static_extents(*t.shape)));
    } else if (in_.at_word("assume")) {
      in_.take_text("assume");
      assume(g);
    } else {
      node(g, names);
    }
  }

  void assume(Graph& g) {
    // "a == b "reason"": the sides end at '=' and '"', which no extent contains.
    DimConstraint c;
    c.a = in_.dim_until('=');
    if (!in_.take_text("==")) in_.fail("expected '=='");
    c.b = in_.dim_until('"');
    c.reason = in_.quoted_text();
    g.constraints.push_back(std::move(c));
  }

  void node(Graph& g, Names& names) {
    struct Result {
      std::string name;
      Type type;
      bool present;
    };
    std::vector<Result> results;
    while (in_.peek() == '%' || in_.at_word("_")) {
      if (in_.take('_')) {
        results.push_back({"", {}, false});
      } else {
        std::string name = value_name();
        check_fresh(names, name);
        results.push_back({std::move(name), type(), true});
        untyped_ |= !results.back().type.written;
      }
      if (!in_.take(',')) break;
    }
    if (!results.empty()) in_.expect('=');
    Node n;
    n.op = operation();
    arguments(names, n);
    if (in_.take('{')) attributes(n);
    const auto first = std::find_if(results.begin(), results.end(), [](const Result& r) { return r.present; });
    if (first != results.end()) n.name = first->name;
    if (in_.take('@')) n.name = in_.quoted_text();
    while (in_.at_word("graph")) n.bodies.push_back(std::make_unique<Graph>(graph()));
    for (const Result& r : results) n.outputs.push_back(r.present ? define(g, names, r.name, r.type) : ValueId());
    g.add_node(std::move(n));
  }

  const OpDef* operation() {
    const std::string full = in_.word("an operator");
    const size_t dot = full.rfind('.');
    const std::string domain = dot == std::string::npos ? "" : full.substr(0, dot);
    const OpDef* o = find_op(dot == std::string::npos ? full : full.substr(dot + 1), domain);
    if (!o) in_.fail(concat("there is no operator ", full));
    return o;
  }

  void arguments(const Names& names, Node& n) {
    in_.expect('(');
    bool captured = false;
    while (in_.peek() != ')') {
      if (!captured && in_.take('|')) captured = true;
      n.inputs.push_back(in_.take('_') ? ValueId() : lookup(names, value_name()));
      n.captures += captured ? 1 : 0;
      if (in_.peek() != '|' && !in_.take(',')) break;
    }
    in_.expect(')');
  }

  void attributes(Node& n) {
    while (in_.peek() != '}') {
      const std::string key = in_.word_or_quoted_text("an attribute");
      in_.expect('=');
      if (!n.attributes.emplace(key, attribute()).second) in_.fail(concat("attribute ", key, " is given twice"));
      if (!in_.take(',')) break;
    }
    in_.expect('}');
  }

  Attribute attribute() {
    if (in_.peek() == '"') return in_.quoted_text();
    if (in_.take_text("ints[]")) return std::vector<int64_t>();
    if (in_.take_text("floats[]")) return std::vector<double>();
    if (in_.take_text("strings[]")) return std::vector<std::string>();
    if (in_.peek() == '[') return list_attribute();
    if (in_.at_number()) {
      const gir::Scanner::Number x = in_.number();
      return x.is_float ? Attribute(x.real) : Attribute(x.integer);
    }
    const DType t = dtype();
    const std::vector<int64_t> shape = static_extents(in_.dims('[', ']'));
    return std::make_shared<const Tensor>(gir::parse_data(in_, t, shape));
  }

  Attribute list_attribute() {
    in_.expect('[');
    if (in_.peek() == '"') {
      std::vector<std::string> texts;
      do texts.push_back(in_.quoted_text());
      while (in_.take(','));
      in_.expect(']');
      return texts;
    }
    std::vector<gir::Scanner::Number> numbers;
    do numbers.push_back(in_.number());
    while (in_.take(','));
    in_.expect(']');
    std::vector<int64_t> ints;
    std::vector<double> reals;
    for (const auto& x : numbers) {
      ints.push_back(x.integer);
      reals.push_back(x.real);
      if (x.is_float != numbers[0].is_float) in_.fail("a list has integers and floats");
    }
    return numbers[0].is_float ? Attribute(reals) : Attribute(ints);
  }

  gir::Scanner in_;
  bool untyped_ = false;
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).whole(); }

}  // namespace gcg
