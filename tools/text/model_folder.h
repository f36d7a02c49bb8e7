// Facts about a language model from the configuration files that its exporter writes beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

struct ModelFolder {
  std::string path;              ///< "": unknown
  std::vector<int64_t> end_ids;  ///< tokens that end a text
  std::string end_token;         ///< the text of such a token, if no file gives its id
  int64_t context_length = 0;    ///< most tokens that the model can read; 0: unknown
  std::string context_source;    ///< the file that gives context_length
};

/// Reads genai_config.json, generation_config.json, config.json and tokenizer_config.json in this order: the first file
/// that contains a fact is used for it. Files may be missing. Throws Error if a file cannot be parsed.
ModelFolder read_model_folder(const std::string& path);

}  // namespace gcg::tools
