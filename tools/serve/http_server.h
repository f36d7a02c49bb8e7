// HTTP/1.1 over Boost.Beast: connections, limits and timeouts. The handler makes the replies.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tools/serve/http_options.h"
#include "tools/serve/messages.h"

namespace gcg::serve {

class HttpServer {
 public:
  /// Listens on the port. Throws std::exception with a sentence if this fails.
  HttpServer(const HttpOptions& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  HttpCounts counts() const;
  /// Serves on the caller's thread until stop(). Calls `on_signal` once for each SIGINT or SIGTERM.
  void run(const std::function<void(int count)>& on_signal);
  /// Accepts no further connections, and closes connections without a request. Other connections end after their reply.
  /// Any thread may call it.
  void close();
  /// Ends run() at once. Any thread may call it.
  void stop();
  /// Ends run() when all connections have ended after close(), or at `latest`. Any thread may call it.
  void stop_when_sent(std::chrono::steady_clock::time_point latest);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace gcg::serve
