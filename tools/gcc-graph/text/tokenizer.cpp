#include "tools/gcc-graph/text/tokenizer.h"

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
json start(std::optional<PythonProcess>& process, const std::vector<std::string>& arguments) {
  for (const std::string& python : python_candidates()) {
    json told = first_answer(process, python, arguments);
    if (told.is_object() && !told.contains("missing")) return told;
  }
  return nullptr;
}

json ask(PythonProcess& process, const std::string& path, const char* request, const json& with) {
  std::string line;
  try {
    line = json{{"do", request}, {"with", with}}.dump();
  } catch (const json::exception&) {
    fail("the text is not valid UTF-8");
  }
  const std::optional<std::string> answer = process.send(line) ? process.receive() : std::nullopt;
  const json told = answer ? json::parse(*answer, nullptr, false) : json();
  if (!told.is_object()) fail("the Python process that reads ", path, " has ended");
  if (told.contains("error")) fail(path, ": ", told["error"].get<std::string>());
  return told;
}

}  // namespace

std::optional<TokenizersPackage> find_tokenizers() {
  std::optional<PythonProcess> process;
  const json told = start(process, {});
  if (!told.is_object()) return std::nullopt;
  return TokenizersPackage{told.value("python", ""), told.value("ready", "")};
}

Tokenizer::Tokenizer(const std::string& path) : path_(path) {
  if (!std::filesystem::is_regular_file(path)) fail("--tokenizer ", path, ": there is no such file");
  const json told = start(process_, {path});
  if (!told.is_object())
    fail("--tokenizer needs the Python package tokenizers, which GCC_GRAPH_PYTHON, VIRTUAL_ENV and python3 in PATH ",
         "do not have: install it with ", kInstallTokenizers);
  if (told.contains("error")) fail("--tokenizer ", path, ": expected a tokenizer.json: ", told.value("error", ""));
}

std::vector<int64_t> Tokenizer::encode(const std::string& text, bool is_begin) {
  return ask(*process_, path_, "encode", json::array({text, is_begin}))["ids"].get<std::vector<int64_t>>();
}

std::optional<int64_t> Tokenizer::id_of(const std::string& token) {
  const json id = ask(*process_, path_, "id_of", json::array({token}))["id"];
  return id.is_null() ? std::nullopt : std::optional(id.get<int64_t>());
}

std::string Tokenizer::as_chat(const std::string& text, const std::string& folder) {
  return ask(*process_, path_, "chat", json::array({text, folder}))["text"].get<std::string>();
}

void Tokenizer::begin(const std::vector<int64_t>& ids) { ask(*process_, path_, "begin", json::array({ids})); }

std::string Tokenizer::add(int64_t id) {
  return ask(*process_, path_, "add", json::array({id}))["text"].get<std::string>();
}

std::string Tokenizer::end() { return ask(*process_, path_, "end", json::array())["text"].get<std::string>(); }

}  // namespace gcg::tools
