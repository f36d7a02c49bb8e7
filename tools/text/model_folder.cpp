#include "tools/text/model_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using nlohmann::json;

/// The object in a file; null if there is no such file.
json read_json(const std::string& path) {
  if (!std::filesystem::exists(path)) return nullptr;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read ", path);
  json out = json::parse(file, nullptr, false);
  if (!out.is_object()) fail(path, " is not a JSON object");
  return out;
}

std::vector<int64_t> ids_of(const json& value, const std::string& path) {
  std::vector<int64_t> out;
  for (const json& id : value.is_array() ? value : json::array({value})) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0)
      fail(path, ": eos_token_id ", id.dump(), " is not a token id");
    out.push_back(id.get<int64_t>());
  }
  return out;
}

const json& member(const json& object, const char* name) {
  static const json nothing;
  return object.is_object() && object.contains(name) ? object[name] : nothing;
}

void read_facts(ModelFolder& out, const json& facts, const char* length, const std::string& path) {
  const json& ids = member(facts, "eos_token_id");
  if (out.end_ids.empty() && !ids.is_null()) out.end_ids = ids_of(ids, path);
  const json& most = length == nullptr ? json() : member(facts, length);
  if (out.context_length == 0 && most.is_number_integer() && most.get<int64_t>() > 0) {
    out.context_length = most.get<int64_t>();
    out.context_source = path;
  }
}

}  // namespace

ModelFolder read_model_folder(const std::string& path) {
  ModelFolder out;
  out.path = path.empty() ? "." : path;
  const auto file = [&](const char* name) { return (std::filesystem::path(out.path) / name).string(); };
  read_facts(out, member(read_json(file("genai_config.json")), "model"), "context_length", file("genai_config.json"));
  read_facts(out, read_json(file("generation_config.json")), nullptr, file("generation_config.json"));
  read_facts(out, read_json(file("config.json")), "max_position_embeddings", file("config.json"));
  const json tokenizer = read_json(file("tokenizer_config.json"));
  const json& token = member(tokenizer, "eos_token");
  const json& text = token.is_object() ? member(token, "content") : token;
  if (out.end_ids.empty() && text.is_string()) out.end_token = text.get<std::string>();
  return out;
}

}  // namespace gcg::tools
