#include "tools/serve/server.h"

#include <future>
#include <stdexcept>
#include <thread>

#include "tools/serve/json_elements.h"
#include "tools/serve/log.h"
#include "tools/serve/protocol.h"
#include "tools/serve/repository.h"

namespace gcg::serve {
namespace {

/// Loads the model, or throws the reason.
void load(Repository& repository, const std::string& reference) {
  const gart::store::Reference model = gart::store::parse_reference(reference);
  std::promise<std::string> failed;
  repository.with_model(
      model.id, model.version ? std::to_string(*model.version) : "",
      [&](const std::shared_ptr<Model>& loaded) {
        log_event("loaded", {{"model", in_quotes(loaded->id())},
                             {"version", in_quotes(loaded->version())},
                             {"device", in_quotes(loaded->device())}});
        failed.set_value("");
      },
      [&](unsigned, const std::string& message) { failed.set_value(message); });
  if (const std::string message = failed.get_future().get(); !message.empty()) throw std::runtime_error(message);
}

/// Waits for the lanes in a thread of its own, so that the server can still send replies.
class Drain {
 public:
  ~Drain() {
    if (thread_.joinable()) thread_.join();
  }
  void begin(Protocol& protocol, Lanes& lanes, HttpServer& server, Clock::time_point latest) {
    log_event("draining", {{"waiting", std::to_string(lanes.waiting())}});
    protocol.begin_drain();
    server.close();
    thread_ = std::thread([this, &lanes, &server, latest] {
      is_complete = lanes.drain(latest);
      server.stop_when_sent(latest);
    });
  }
  bool is_complete = false;

 private:
  std::thread thread_;
};

}  // namespace

bool serve(const ServerOptions& options) {
  const gart::store::Store check(options.models.store, gart::store::Store::Access::read);
  const TextModels texts(options.tokenizers);
  // The server outlives the lanes, because their last requests send answers to its connections.
  Protocol* handler = nullptr;
  HttpServer server(options.http, [&](HttpRequest request, Answer answer) {
    handler->handle(std::move(request), std::move(answer));
  });
  Lanes lanes(options.lanes);
  Repository repository(options.models, lanes);
  Protocol protocol({options.token, options.http.body, options.logs_requests, options.version, options.generations},
                    repository, lanes, texts);
  protocol.counts = [&] { return server.counts(); };
  handler = &protocol;
  for (const std::string& model : options.loads) load(repository, model);
  log_event("ready", {{"address", in_quotes(options.http.address)},
                      {"port", std::to_string(server.port())},
                      {"tls", options.http.certificate.empty() ? "false" : "true"},
                      {"store", in_quotes(options.models.store)},
                      {"lanes", std::to_string(options.lanes.lanes)}});
  Drain drain;
  server.run([&](int count) {
    if (count == 1)
      drain.begin(protocol, lanes, server, Clock::now() + options.drain);
    else
      server.stop();
  });
  lanes.stop();
  log_event("stopped", {{"all_answered", drain.is_complete ? "true" : "false"}});
  return drain.is_complete;
}

}  // namespace gcg::serve
