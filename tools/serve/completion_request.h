// A request for text in OpenAI's form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gart/generate.hpp"
#include "tools/text/tokenizer.h"

namespace gcg::serve {

struct CompletionRequest {
  bool is_chat = false;
  std::string model;                         // "ID" or "ID@VERSION"
  std::string prompt;                        // unless `ids` or `messages` are given
  std::vector<int64_t> ids;                  // the prompt as tokens
  std::vector<tools::ChatMessage> messages;  // of a chat
  gart::GenerateOptions options;             // max_tokens: see below
  std::optional<int64_t> max_tokens;         // nullopt: as many as the model's context has room for
  std::vector<std::string> stops;
  bool streams = false, includes_usage = false;
  std::string user;  // the client's name for its user, for the log
};

/// Throws Refusal that names the parameter at fault. No parameter is ignored: others than those of CompletionRequest
/// are refused, unless they ask for the usual behaviour.
CompletionRequest parse_completion(const std::string& body, bool is_chat);

}  // namespace gcg::serve
