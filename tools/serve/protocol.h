// The Open Inference Protocol v2 over HTTP, with Triton's extensions for binary tensors, sequences, statistics,
// configuration and the model repository; and OpenAI's requests for text.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "tools/serve/http_server.h"
#include "tools/serve/lanes.h"
#include "tools/serve/openai.h"
#include "tools/serve/repository.h"

namespace gcg::serve {

struct ProtocolOptions {
  std::string token;               // token that all requests except health checks must send; empty: none
  size_t body = size_t{64} << 20;  // limit of a decompressed body
  bool logs_requests = false;
  std::string version;
  size_t generations = 16;  // limit of those that run at a time
};

class Protocol {
 public:
  Protocol(const ProtocolOptions& options, Repository& repository, Lanes& lanes, const TextModels& texts);

  /// Answers a request, perhaps later and from another thread.
  void handle(HttpRequest request, Answer answer);
  /// The server is no longer ready for requests.
  void begin_drain() { is_draining_ = true; }
  std::function<HttpCounts()> counts;  // the counts of the HTTP server, for metrics

 private:
  struct Call;

  void route(Call call);
  void route_v2(Call call);
  void route_model(Call call);
  void route_repository(Call call);
  void infer(Call call);
  void with_model(const Call& call, std::function<HttpReply(const Model&)> reply);
  bool is_allowed(const HttpRequest& request) const;
  std::string metrics() const;
  std::string server_json() const;
  std::string statistics_json(const std::string& id) const;
  Answer observed(const HttpRequest& request, Answer answer) const;

  const ProtocolOptions options_;
  Repository& repository_;
  Lanes& lanes_;
  Generations generations_;
  OpenAi openai_;
  std::atomic<bool> is_draining_ = false;
};

}  // namespace gcg::serve
