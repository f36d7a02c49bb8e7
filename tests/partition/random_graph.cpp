#include "tests/partition/random_graph.h"

#include <random>
#include <vector>

#include "compiler/support/error.h"

namespace gcg::test {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : rng_(seed) {}

  std::string run(int nodes) {
    for (const char* v : {"x", "y"}) values_.emplace_back(v);
    while (nodes_ < nodes) one();
    std::string outputs = "%" + values_.back();
    for (int i = 0; i < 2; ++i)
      if (const std::string v = pick(); outputs.find("%" + v + ",") == std::string::npos && "%" + v != outputs)
        outputs += concat(", %", v);
    for (const std::string& extra : outputs_) outputs += concat(", %", extra);
    return concat("graph random(%x: f32[n,4], %y: f32[n,4]) -> (", outputs, ") {\n", text_, "}\n");
  }

 private:
  int below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  /// Picks a value, mostly one of the last ones.
  std::string pick() {
    const auto last = static_cast<int>(values_.size());
    return values_[static_cast<size_t>(below(4) == 0 ? below(last) : last - 1 - below(std::min(last, 4)))];
  }
  std::string fresh() { return concat("v", next_++); }
  void line(const std::string& s) { text_ += "  " + s + "\n"; }
  void node(const std::string& result, const std::string& call) {
    line(concat("%", result, " = ", call));
    ++nodes_;
  }

  void one() {
    const std::string v = fresh(), a = pick(), b = pick();
    switch (below(16)) {
      case 0:
        return choice(v, a, b);
      case 1:
        return loop(v, a, b);
      case 2:
        return found(v, a);
      case 3:
        return reshaped(v, a, b);
      case 4:
        line(concat("constant %w", v, ": f32[4,4] = random(", below(3), ")"));
        node(v, concat("MatMul(%", a, ", %w", v, ")"));
        break;
      case 5:
        node(v, concat("Softmax(%", a, ")"));
        break;
      case 6:
        node(v, concat("Max(%", a, ", %", b, ")"));
        break;
      case 7:
        node(v, concat("Sub(%", a, ", %", b, ")"));
        break;
      case 8:
        node(v, concat("Tanh(%", a, ")"));
        break;
      case 9:
        node(v, concat("Sigmoid(%", a, ")"));
        break;
      case 10:
        node(v, concat("Neg(%", a, ")"));
        break;
      case 11:
        node(v, concat("Softplus(%", a, ")"));
        break;
      default:
        node(v, concat("Add(%", a, ", %", b, ")"));
        break;
    }
    values_.push_back(v);
  }

  void choice(const std::string& v, const std::string& a, const std::string& b) {
    node(v + "s", concat("ReduceSum(%", a, ") {keepdims = 0}"));
    line(concat("constant %", v, "z: f32[] = {0}"));
    node(v + "c", concat("Less(%", v, "s, %", v, "z)"));
    line(concat("%", v, ": f32[n,4] = If(%", v, "c | %", a, ", %", b, ")"));
    line("  graph then(%p: f32[n,4], %q: f32[n,4]) -> (%r) { %r: f32[n,4] = Add(%p, %q) }");
    line("  graph else(%p: f32[n,4], %q: f32[n,4]) -> (%r) { %r: f32[n,4] = Sub(%p, %q) }");
    ++nodes_;
    values_.push_back(v);
  }

  void loop(const std::string& v, const std::string& a, const std::string& b) {
    line(concat("constant %", v, "k: i64[] = {", 1 + below(3), "}"));
    line(concat("%", v, ": f32[n,4] = Loop(%", v, "k, _, %", a, " | %", b, ")"));
    line("  graph body(%i: i64[], %go: bool[], %p: f32[n,4], %q: f32[n,4]) -> (%go2, %r) {");
    line("    %go2: bool[] = Identity(%go)");
    line("    %s: f32[n,4] = Mul(%p, %q)");
    line("    %r: f32[n,4] = Tanh(%s)");
    line("  }");
    ++nodes_;
    values_.push_back(v);
  }

  /// Adds an extent that depends on data. Often only a value of a derived extent crosses between groups.
  void found(const std::string& v, const std::string& a) {
    node(v + "i", concat("NonZero(%", a, ")"));
    node(v + "f", concat("Cast(%", v, "i) {to = 1}"));
    if (below(2) == 0) node(v + "t", concat("Concat(%", v, "f, %", v, "f) {axis = 1}"));
    const std::string last = text_.find("%" + v + "t ") == std::string::npos ? v + "f" : v + "t";
    line(concat("constant %", v, "one: i64[1] = {1}"));
    node(v + "m", concat("ReduceSum(%", last, ", %", v, "one) {keepdims = 0}"));
    node(v + "n", concat("ReduceSum(%", v, "m) {keepdims = 1}"));
    node(v, concat("Add(%", a, ", %", v, "n)"));
    values_.push_back(v);
  }

  /// Adds a + b, reshaped to a computed shape and back.
  void reshaped(const std::string& v, const std::string& a, const std::string& b) {
    line(concat("constant %", v, "two: i64[1] = {", 2, "}"));
    line(concat("constant %", v, "neg: i64[1] = {-1}"));
    node(v + "e", concat("Shape(%", a, ") {start = 0, end = 1}"));
    node(v + "d", concat("Mul(%", v, "e, %", v, "two)"));
    node(v + "to", concat("Concat(%", v, "d, %", v, "neg) {axis = 0}"));
    node(v + "p", concat("Reshape(%", a, ", %", v, "to)"));
    node(v + "q", concat("Reshape(%", b, ", %", v, "to)"));
    node(v + "r", concat("Add(%", v, "p, %", v, "q)"));
    node(v + "back", concat("Shape(%", b, ")"));
    node(v, concat("Reshape(%", v, "r, %", v, "back)"));
    if (below(4) == 0) outputs_.push_back(v + "d");
    values_.push_back(v);
  }

  std::mt19937 rng_;
  std::vector<std::string> values_, outputs_;
  std::string text_;
  int nodes_ = 0, next_ = 0;
};

}  // namespace

std::string random_graph(uint32_t seed, int nodes) { return Generator(seed).run(nodes); }

}  // namespace gcg::test
