// HTTP/1.1 over Boost.Beast: connections, limits and timeouts. The handler makes the replies.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tools/serve/messages.h"

namespace gcg::serve {

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;               // 0: any free one
  size_t body = size_t{64} << 20;  // most bytes of a request's body
  size_t header = 16 << 10;
  size_t connections = 1024;
  std::chrono::seconds idle{60};  // without a request, and to receive a header or send a reply
};

/// Counts for metrics.
struct HttpCounts {
  size_t connections = 0;  // open now
  uint64_t accepted = 0, refused = 0, requests = 0;
};

class HttpServer {
 public:
  /// Listens. Throws std::exception with a sentence if it cannot.
  HttpServer(const HttpOptions& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  HttpCounts counts() const;
  /// Serves on the caller's thread until stop(). Calls `on_signal` once for each SIGINT or SIGTERM.
  void run(const std::function<void(int count)>& on_signal);
  /// Accepts no further connection, and closes those without a request. Others end after their reply. By any thread.
  void close();
  /// Ends run() at once. By any thread.
  void stop();
  /// Ends run() when all connections have ended after close(), or at `latest`. By any thread.
  void stop_when_sent(std::chrono::steady_clock::time_point latest);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace gcg::serve
