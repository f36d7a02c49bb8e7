// Text of a language model as token ids, by Hugging Face's package `tokenizers`, which runs as a Python process.
#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/text/model_folder.h"
#include "tools/text/python_process.h"

namespace gcg::tools {

/// A Python that has the package.
struct TokenizersPackage {
  std::string python, version;
};

/// nullopt: no Python of python_candidates() has the package.
std::optional<TokenizersPackage> find_tokenizers();

/// The command that installs the package.
inline constexpr const char* kInstallTokenizers = "python3 -m pip install tokenizers";

struct ChatMessage {
  std::string role, content;  // "user", "assistant", "system"
};

/// For any thread; requests wait for each other. If the Python process dies, the next request starts another one.
class Tokenizer {
 public:
  /// `path`: a tokenizer.json. Throws Error if it cannot be read, or if no Python has the package.
  explicit Tokenizer(const std::string& path);

  /// `is_begin`: adds the special tokens that begin a text for this model.
  std::vector<int64_t> encode(const std::string& text, bool is_begin);
  /// The id of a token by its text.
  std::optional<int64_t> id_of(const std::string& token);
  /// The conversation by the chat template in `folder`, up to the beginning of the next answer.
  std::string as_chat(std::span<const ChatMessage> messages, const std::string& folder);
  /// The tokens that end a text of the model.
  std::vector<int64_t> end_ids(const ModelFolder& folder);
  /// The text, in UTF-8, that follows the first `read` ids; "" if its last character needs further tokens. `is_end`:
  /// there are none, and U+FFFD replaces the character.
  std::string news(std::span<const int64_t> ids, size_t read, bool is_end);

 private:
  void start();
  nlohmann::json ask(const char* request, const nlohmann::json& with);

  std::string path_;
  std::mutex mutex_;
  std::optional<PythonProcess> process_;
};

/// The text of tokens that arrive one by one.
class TokenText {
 public:
  /// The tokens follow those of `prompt`. The last of them determine whether a space comes first.
  TokenText(Tokenizer& tokenizer, std::span<const int64_t> prompt);

  /// The text, in UTF-8, that this token completes; "" inside a character of several tokens.
  std::string add(int64_t id);
  /// The rest of the text; U+FFFD replaces an incomplete character.
  std::string end() { return news(true); }

 private:
  std::string news(bool is_end);

  Tokenizer& tokenizer_;
  std::vector<int64_t> ids_;  // the last tokens
  size_t read_;               // number of them whose text is known
};

}  // namespace gcg::tools
