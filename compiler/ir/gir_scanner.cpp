#include "compiler/ir/gir_scanner.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/support/error.h"

namespace gcg::gir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string word_or_quoted(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), is_word_char);
  return plain ? name : quoted(name);
}

void Scanner::fail(const std::string& message) const {
  const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  gcg::fail("gir: line ", line, ", column ", column, ": ", message);
}

char Scanner::peek() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
    else
      return text_[at_];
  }
  return '\0';
}

bool Scanner::take(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

bool Scanner::take_text(std::string_view word) {
  peek();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void Scanner::expect(char c) {
  if (take(c)) return;
  const char found = peek();
  fail(concat("expected '", c, "', found ", found ? concat("'", found, "'") : std::string("the end")));
}

bool Scanner::at_word(std::string_view word) {
  peek();
  if (text_.substr(at_, word.size()) != word) return false;
  return at_ + word.size() >= text_.size() || !is_word_char(text_[at_ + word.size()]);
}

std::string Scanner::word(const char* what) {
  peek();
  const size_t begin = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  if (at_ == begin) fail(concat("expected ", what));
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Scanner::quoted_text() {
  expect('"');
  std::string out;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      out += text_[at_] == 'n' ? '\n' : text_[at_];
    } else {
      out += text_[at_];
    }
  }
  if (at_ >= text_.size()) fail("the text in quotes does not end");
  ++at_;
  return out;
}

std::string Scanner::word_or_quoted_text(const char* what) { return peek() == '"' ? quoted_text() : word(what); }

bool Scanner::at_number() {
  const char c = peek();
  return is_digit(c) || c == '-' || c == '+' || at_word("inf") || at_word("nan");
}

Scanner::Number Scanner::number() {
  peek();
  const size_t begin = at_;
  if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
  while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.' ||
                                ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e')))
    ++at_;
  std::string_view text = text_.substr(begin, at_ - begin);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  Number out;
  if (const auto r = std::from_chars(text.data(), end, out.integer); r.ec == std::errc() && r.ptr == end) {
    out.real = text[0] == '-' && out.integer == 0 ? -0.0 : static_cast<double>(out.integer);
    return out;
  }
  uint64_t large = 0;  // u64 elements beyond the signed range keep their bits
  if (const auto r = std::from_chars(text.data(), end, large); r.ec == std::errc() && r.ptr == end) {
    out.integer = static_cast<int64_t>(large);
    out.real = static_cast<double>(large);
    return out;
  }
  out.is_float = true;
  if (const auto r = std::from_chars(text.data(), end, out.real); r.ec != std::errc() || r.ptr != end) {
    at_ = begin;
    fail("expected a number");
  }
  return out;
}

int64_t Scanner::integer() {
  const Number n = number();
  if (n.is_float) fail("expected an integer");
  return n.integer;
}

Dim Scanner::dim_until(char end, char other_end) {
  peek();
  const size_t begin = at_;
  bool in_quotes = false;
  for (int depth = 0; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\'' && text_[at_ - 1] != '\\') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth <= 0 && (c == end || c == other_end)) break;
  }
  const std::string text(text_.substr(begin, at_ - begin));
  const auto dim = Dim::parse(text);
  if (!dim) {
    at_ = begin;
    fail(concat("'", text, "' is not an extent"));
  }
  return *dim;
}

Shape Scanner::dims(char open, char close) {
  expect(open);
  Shape out;
  if (take(close)) return out;
  do out.push_back(dim_until(',', close));
  while (take(','));
  expect(close);
  return out;
}

}  // namespace gcg::gir
