#include "tools/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "script_text.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using nlohmann::json;

/// The first line of the script's output; null if there is no output.
json first_answer(std::optional<PythonProcess>& process, const std::string& python,
                  const std::vector<std::string>& arguments) {
  try {
    process.emplace(python, kTokenizerScript, arguments);
  } catch (const Error&) {
    return nullptr;  // the caller tries the next interpreter
  }
  const std::optional<std::string> line = process->receive();
  return line ? json::parse(*line, nullptr, false) : json();
}

/// Starts the script with the first Python that has the package; null if no Python has the package.
json start_script(std::optional<PythonProcess>& process, const std::vector<std::string>& arguments) {
  for (const std::string& python : python_candidates()) {
    json told = first_answer(process, python, arguments);
    if (told.is_object() && !told.contains("missing")) return told;
  }
  return nullptr;
}

std::string request_line(const char* request, const json& with) {
  try {
    return json{{"do", request}, {"with", with}}.dump();
  } catch (const json::exception&) {
    fail("the text is not valid UTF-8");
  }
}

}  // namespace

std::optional<TokenizersPackage> find_tokenizers() {
  std::optional<PythonProcess> process;
  const json told = start_script(process, {});
  if (!told.is_object()) return std::nullopt;
  return TokenizersPackage{told.value("python", ""), told.value("ready", "")};
}

Tokenizer::Tokenizer(const std::string& path) : path_(path) {
  if (!std::filesystem::is_regular_file(path)) fail("--tokenizer ", path, ": there is no such file");
  start();
}

void Tokenizer::start() {
  const json told = start_script(process_, {path_});
  if (!told.is_object())
    fail("--tokenizer needs the Python package tokenizers, which GCC_GRAPH_PYTHON, VIRTUAL_ENV and python3 in PATH ",
         "do not have: install it with ", kInstallTokenizers);
  if (told.contains("error")) fail("--tokenizer ", path_, ": expected a tokenizer.json: ", told.value("error", ""));
}

json Tokenizer::ask(const char* request, const json& with) {
  const std::string line = request_line(request, with);
  const std::lock_guard lock(mutex_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!process_) start();
    const std::optional<std::string> answer = process_->send(line) ? process_->receive() : std::nullopt;
    json told = answer ? json::parse(*answer, nullptr, false) : json();
    if (told.is_object() && told.contains("error")) fail(path_, ": ", told["error"].get<std::string>());
    if (told.is_object()) return told;
    process_.reset();
  }
  fail("the Python process that reads ", path_, " has ended");
}

std::vector<int64_t> Tokenizer::encode(const std::string& text, bool is_begin) {
  return ask("encode", json::array({text, is_begin}))["ids"].get<std::vector<int64_t>>();
}

std::optional<int64_t> Tokenizer::id_of(const std::string& token) {
  const json id = ask("id_of", json::array({token}))["id"];
  return id.is_null() ? std::nullopt : std::optional(id.get<int64_t>());
}

std::string Tokenizer::as_chat(std::span<const ChatMessage> messages, const std::string& folder) {
  json all = json::array();
  for (const ChatMessage& message : messages) all.push_back({{"role", message.role}, {"content", message.content}});
  return ask("chat", json::array({all, folder}))["text"].get<std::string>();
}

std::vector<int64_t> Tokenizer::end_ids(const ModelFolder& folder) {
  std::vector<int64_t> ids = folder.end_ids;
  if (folder.end_token.empty()) return ids;
  if (const std::optional<int64_t> id = id_of(folder.end_token)) ids.push_back(*id);
  return ids;
}

std::string Tokenizer::news(std::span<const int64_t> ids, size_t read, bool is_end) {
  return ask("news", json::array({std::vector<int64_t>(ids.begin(), ids.end()), read, is_end}))["text"]
      .get<std::string>();
}

TokenText::TokenText(Tokenizer& tokenizer, std::span<const int64_t> prompt) : tokenizer_(tokenizer) {
  const auto last = prompt.last(std::min<size_t>(prompt.size(), 8));
  ids_.assign(last.begin(), last.end());
  read_ = ids_.size();
}

std::string TokenText::add(int64_t id) {
  ids_.push_back(id);
  return news(false);
}

std::string TokenText::news(bool is_end) {
  std::string text = tokenizer_.news(ids_, read_, is_end);
  if (text.empty()) return text;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(read_));
  read_ = ids_.size();
  return text;
}

}  // namespace gcg::tools
