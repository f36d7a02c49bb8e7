// Characters, words and literals of the text form; shared by the files that parse it.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/dim.h"
#include "compiler/ir/tensor.h"

namespace gcg::gir {

/// True if a word (an operator, attribute or unquoted value name) may contain this character.
bool is_word_char(char c);
/// The name, quoted if it is not a word.
std::string word_or_quoted(const std::string& name);
std::string quoted(const std::string& text);

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The next character after blanks and comments; 0 at the end.
  char peek();
  bool take(char c);
  bool take_text(std::string_view word);
  void expect(char c);
  bool at_word(std::string_view word);  ///< true if the next word is exactly this
  std::string word(const char* what);
  std::string quoted_text();
  std::string word_or_quoted_text(const char* what);
  /// An integer or a float; `is_float` says which ("1.0", "1e3", "inf" and "nan" are floats).
  struct Number {
    bool is_float = false;
    int64_t integer = 0;
    double real = 0;
  };
  Number number();
  int64_t integer();
  bool at_number();
  /// Parses "[a,b + 1]"; the opening bracket is next.
  Shape dims(char open, char close);
  /// Parses an extent up to `end` outside of parentheses; `end` itself is not consumed.
  Dim dim_until(char end) { return dim_until(end, end); }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  Dim dim_until(char end, char other_end);

  std::string_view text_;
  size_t at_ = 0;
};

// Data of tensors.
std::string print_data(const Tensor& tensor, bool elide);
/// `integer` for integer dtypes, `real` for floats.
std::string print_double(double value);
Tensor parse_data(Scanner& in, DType dtype, const std::vector<int64_t>& shape);

}  // namespace gcg::gir
