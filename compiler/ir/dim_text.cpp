// The text form of a Dim: "batch*(seq + 1)//2 - max(a,3)". Names that are not identifiers are quoted: 'past length'.
#include <cctype>
#include <charconv>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

std::string quoted_if_needed(const std::string& name) {
  bool plain = !name.empty() && starts_name(name[0]);
  for (char c : name) plain = plain && continues_name(c);
  if (plain) return name;
  std::string out = "'";
  for (char c : name) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string operand(const Dim& d) {
  const std::string text = d.str();
  const Dim::AtomRef atom = dim_internal::sole_atom(d);
  const bool bare = (d.is_constant() && d.constant() >= 0) ||
                    (atom && atom->kind != Dim::AtomKind::floor_div && atom->kind != Dim::AtomKind::mod);
  return bare ? text : concat("(", text, ")");
}

/// An atom beyond this size is printed as a number derived from its structure; parse() refuses it.
constexpr int64_t kLongest = 4096;

std::string text_of(const Dim::Atom& atom) {
  if (dim_internal::facts(atom).size > kLongest) return concat("#", dim_internal::facts(atom).hash);
  switch (atom.kind) {
    case Dim::AtomKind::symbol:
      return quoted_if_needed(atom.name);
    case Dim::AtomKind::floor_div:
      return operand(atom.a) + "//" + operand(atom.b);
    case Dim::AtomKind::mod:
      return operand(atom.a) + "%" + operand(atom.b);
    case Dim::AtomKind::max:
      return concat("max(", atom.a.str(), ",", atom.b.str(), ")");
    case Dim::AtomKind::min:
      return concat("min(", atom.a.str(), ",", atom.b.str(), ")");
  }
  GCG_CHECK(false, "atom kind");
  return {};
}

/// Recursive descent over: sum = product {("+"|"-") product}; product = unary {("*"|"//"|"%") unary}.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Dim> whole() {
    auto d = sum();
    return d && peek() == '\0' ? d : std::nullopt;
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  std::optional<Dim> sum() {
    auto left = term();
    while (left && (peek() == '+' || peek() == '-')) {
      const bool plus = text_[at_++] == '+';
      const auto right = term();
      if (!right) return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }

  std::optional<Dim> term() {
    auto left = unary();
    while (left) {
      const char c = peek();
      if (c != '*' && c != '%' && c != '/') return left;
      ++at_;
      if (c == '/' && !(at_ < text_.size() && text_[at_++] == '/')) return std::nullopt;
      const auto right = unary();
      if (!right || (c != '*' && right->is(0))) return std::nullopt;
      left = c == '*' ? *left * *right : c == '%' ? mod(*left, *right) : floor_div(*left, *right);
    }
    return left;
  }

  /// All recursion passes through this function, so it checks the depth.
  std::optional<Dim> unary() {
    constexpr int kDeepest = 1000;
    if (depth_ >= kDeepest) return std::nullopt;
    ++depth_;
    auto d = take('-') ? negative() : primary();
    --depth_;
    return d;
  }

  std::optional<Dim> negative() {
    // "-9223372036854775808" is a number, though its absolute value is not.
    if (const auto n = number("-")) return Dim(*n);
    const auto d = unary();
    return d ? std::optional(*d * Dim(-1)) : std::nullopt;
  }

  std::optional<int64_t> number(const char* sign) {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) return std::nullopt;
    const size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string digits = sign + std::string(text_.substr(begin, at_ - begin));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
    at_ = text_.size() + 1;  // out of range: nothing can be parsed from here
    return std::nullopt;
  }

  std::optional<Dim> primary() {
    const char c = peek();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      const auto n = number("");
      return n ? std::optional(Dim(*n)) : std::nullopt;
    }
    if (take('(')) {
      auto d = sum();
      return d && take(')') ? d : std::nullopt;
    }
    if (c == '\'') return quoted();
    if (!starts_name(c)) return std::nullopt;
    const size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if ((name == "max" || name == "min") && take('(')) return extremum(name == "max");
    return Dim::symbol(name);
  }

  std::optional<Dim> quoted() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '\''; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_];
    }
    if (at_ >= text_.size()) return std::nullopt;
    ++at_;
    return Dim::symbol(name);
  }

  std::optional<Dim> extremum(bool is_max) {
    auto left = sum();
    while (left && take(',')) {
      const auto right = sum();
      if (!right) return std::nullopt;
      left = is_max ? max(*left, *right) : min(*left, *right);
    }
    return left && take(')') ? left : std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Dim> Dim::parse(std::string_view text) { return Parser(text).whole(); }

std::string Dim::str() const {
  if (terms_.empty()) return "0";
  std::string out;
  for (const auto& [m, coefficient] : terms_) {
    std::string product;
    for (const AtomRef& atom : m) {
      const bool quotient = atom->kind == AtomKind::floor_div || atom->kind == AtomKind::mod;
      const std::string text = text_of(*atom);
      const bool alone = m.size() == 1 && coefficient == 1;
      if (!product.empty()) product += '*';
      product += quotient && !alone ? concat("(", text, ")") : text;
    }
    const bool negative = coefficient < 0;
    if (out.empty())
      out += negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    std::string magnitude = std::to_string(coefficient);
    if (negative) magnitude.erase(0, 1);
    if (m.empty())
      out += magnitude;
    else
      out += (magnitude == "1" ? "" : magnitude + "*") + product;
  }
  return out;
}

std::string str(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += ',';
    out += shape[i].str();
  }
  return out + "]";
}

}  // namespace gcg
