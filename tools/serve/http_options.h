// Limits of the HTTP server, and its counts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gcg::serve {

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;               // 0: any free one
  std::string certificate, key;    // PEM files for TLS: the chain, and the private key. Empty: no TLS
  size_t body = size_t{64} << 20;  // limit of the bytes of a request's body
  size_t header = 16 << 10;
  size_t connections = 1024;
  std::chrono::seconds idle{60};  // limit for the time without a request, and for the time to receive a header or send
                                  // a reply
};

/// Counts for metrics.
struct HttpCounts {
  size_t connections = 0;  // open now
  uint64_t accepted = 0, refused = 0, requests = 0;
};

}  // namespace gcg::serve
