#include "tools/lazy/intern.h"

#include <deque>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcc_graph::lazy {
namespace {

/// Interned objects, by a text that describes them completely.
template <class T>
class Table {
 public:
  template <class Make>
  const T* get(const std::string& key, Make make) {
    const std::lock_guard lock(mutex_);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    T entry = make();
    entry.id = static_cast<uint32_t>(all_.size());
    all_.push_back(std::move(entry));
    return known_[key] = &all_.back();
  }

 private:
  std::mutex mutex_;
  std::deque<T> all_;
  std::unordered_map<std::string, const T*> known_;
};

void append(std::string& key, int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); }

struct Pattern {
  uint32_t id;
};

uint32_t pattern_of(std::span<const int64_t> values, std::span<const uint32_t> lengths) {
  static auto* patterns = new Table<Pattern>;
  std::string key;
  for (const uint32_t n : lengths) append(key, n);
  for (const int64_t v : values) append(key, v <= 1 ? v : 2);
  return patterns->get(key, [] { return Pattern(); })->id;
}

gcg::Attribute own_attribute(const Attribute& source) {
  return std::visit([](const auto& value) { return gcg::Attribute(value); }, source);
}

template <class T>
void write(std::ostringstream& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    out << value.size() << '"' << value;
  else
    out << value;
}

std::string text_of(const Attribute& source) {
  std::ostringstream out;
  out.precision(17);
  out << source.index() << ':';
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, std::string>)
          write(out, value);
        else
          for (const auto& element : value) {
            write(out, element);
            out << ',';
          }
      },
      source);
  return out.str();
}

gcg::TensorRef constant_operand(const Op& op, size_t k) {
  const auto it = op.raw_attributes.find("#" + std::to_string(k));
  const auto* numbers = it == op.raw_attributes.end() ? nullptr : std::get_if<std::vector<double>>(&it->second);
  if (numbers == nullptr) gcg::fail(op.name, ": operand ", k, " must be numbers, given as the attribute '#", k, "'");
  const std::vector<float> values(numbers->begin(), numbers->end());
  return std::make_shared<gcg::Tensor>(
      gcg::Tensor::from(gcg::DType::f32, {static_cast<int64_t>(values.size())}, values));
}

const gcg::OpDef& def_of(const std::string& name, int operands, int outputs) {
  const size_t colon = name.find("::");
  const gcg::OpDef* def =
      colon == std::string::npos ? gcg::find_op(name) : gcg::find_op(name.substr(colon + 2), name.substr(0, colon));
  if (def == nullptr) gcg::fail("there is no operator '", name, "'");
  if (def->kind == gcg::OpKind::control) gcg::fail(name, " is control flow: write it in the language that records");
  if (operands < def->min_inputs || (def->max_inputs >= 0 && operands > def->max_inputs))
    gcg::fail(name, " takes ", def->min_inputs, " to ", def->max_inputs, " operands, not ", operands);
  if (outputs < def->min_outputs || (def->max_outputs >= 0 && outputs > def->max_outputs))
    gcg::fail(name, " gives ", def->min_outputs, " to ", def->max_outputs, " results, not ", outputs);
  return *def;
}

Op make_op(const std::string& name, const std::string& operands, const Attributes& attributes, int outputs) {
  Op op{.id = 0,
        .def = nullptr,
        .name = name,
        .operands = operands,
        .outputs = outputs,
        .raw_attributes = attributes,
        .attributes = {},
        .constants = {}};
  op.def = &def_of(name, static_cast<int>(operands.size()), outputs);
  for (const auto& [key, value] : attributes)
    if (key.empty() || key[0] != '#') op.attributes[key] = own_attribute(value);
  for (size_t k = 0; k < operands.size(); ++k) {
    op.arrays += operands[k] == 'x' ? 1 : 0;
    if (operands[k] == 'f') op.constants.push_back(constant_operand(op, k));
    if (std::string("xisf_").find(operands[k]) == std::string::npos)
      gcg::fail(name, ": '", operands[k], "' is not a kind of operand; expected x, i, s, f or _");
  }
  return op;
}

Table<Op>& ops() {
  static auto* table = new Table<Op>;
  return *table;
}

}  // namespace

const Extents* intern_extents(std::span<const int64_t> values, std::span<const uint32_t> lengths) {
  static auto* table = new Table<Extents>;
  std::string key;
  for (const uint32_t n : lengths) append(key, n);
  for (const int64_t v : values) append(key, v);
  return table->get(key, [&] {
    return Extents{0, pattern_of(values, lengths), {values.begin(), values.end()}, {lengths.begin(), lengths.end()}};
  });
}

const Type* intern_type(gcg::DType dtype, std::span<const int64_t> shape) {
  static auto* table = new Table<Type>;
  const auto rank = static_cast<uint32_t>(shape.size());
  const Extents* extents = intern_extents(shape, {&rank, 1});
  std::string key;
  append(key, extents->id * int64_t{256} + static_cast<int64_t>(dtype));
  return table->get(key, [&] {
    int64_t elements = 1;
    for (const int64_t d : shape)
      if (d < 0 || __builtin_mul_overflow(elements, d, &elements))
        gcg::fail("a shape of ", gcg::str(gcg::to_shape({shape.begin(), shape.end()})), " is too large");
    return Type{0, dtype, extents, elements, elements * gcg::size_of(dtype)};
  });
}

std::string text_of(const Type& type) {
  return gcg::concat(gcg::name_of(type.dtype), gcg::str(gcg::to_shape(type.extents->values)));
}

const Op* intern_op(const std::string& name, const std::string& operands, const Attributes& attributes, int outputs) {
  std::string key = name + "(" + operands + ")" + std::to_string(outputs);
  for (const auto& [attribute, value] : attributes) key += ";" + attribute + "=" + text_of(value);
  return ops().get(key, [&] { return make_op(name, operands, attributes, outputs); });
}

const Op* output_op(int index) {
  return ops().get("#" + std::to_string(index), [&] {
    return Op{.id = 0,
              .def = nullptr,
              .index = index,
              .name = "result " + std::to_string(index),
              .operands = "x",
              .arrays = 1,
              .outputs = 1,
              .raw_attributes = {},
              .attributes = {},
              .constants = {}};
  });
}

}  // namespace gcc_graph::lazy
