// Text of a language model as token ids, by Hugging Face's package `tokenizers`, which runs as a Python process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/gcc-graph/text/python_process.h"

namespace gcg::tools {

/// A Python that has the package.
struct TokenizersPackage {
  std::string python, version;
};

/// nullopt: no Python of python_candidates() has the package.
std::optional<TokenizersPackage> find_tokenizers();

/// The command that installs the package.
inline constexpr const char* kInstallTokenizers = "python3 -m pip install tokenizers";

class Tokenizer {
 public:
  /// `path`: a tokenizer.json. Throws Error if it cannot be read, or if no Python has the package.
  explicit Tokenizer(const std::string& path);

  /// `is_begin`: adds the special tokens that begin a text for this model.
  std::vector<int64_t> encode(const std::string& text, bool is_begin);
  /// The id of a token by its text.
  std::optional<int64_t> id_of(const std::string& token);
  /// The text as the first message of a conversation, by the chat template in `folder`.
  std::string as_chat(const std::string& text, const std::string& folder);

  /// Begins a text: the ids given to add() follow these ids.
  void begin(const std::vector<int64_t>& ids);
  /// The text, in UTF-8, that this token completes; "" inside a character of several tokens.
  std::string add(int64_t id);
  /// The rest of the text; U+FFFD replaces an incomplete character.
  std::string end();

 private:
  std::string path_;
  std::optional<PythonProcess> process_;
};

}  // namespace gcg::tools
