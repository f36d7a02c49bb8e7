// gcc-graph serve: a store's models over HTTP.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/http_server.h"
#include "tools/serve/lanes.h"
#include "tools/serve/repository.h"

namespace gcg::serve {

struct ServerOptions {
  RepositoryOptions models;
  HttpOptions http;
  LaneOptions lanes;
  std::vector<std::string> loads;  // models to load before the server is ready: "ID" or "ID@VERSION"
  std::vector<std::pair<std::string, std::string>> tokenizers;  // ids of models that generate text, and tokenizer.json
  size_t generations = 16;                                      // limit of texts that are generated at a time
  std::string token;
  std::chrono::seconds drain{30};  // longest time for requests to end after SIGTERM
  bool logs_requests = false;
  std::string version;  // of this program
};

/// Serves until SIGTERM or SIGINT, and ends when all requests are answered; a second signal ends it at once. Returns
/// false if requests were left. Throws std::exception if it cannot start.
bool serve(const ServerOptions& options);

}  // namespace gcg::serve
