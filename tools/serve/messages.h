// Requests and replies between the HTTP server and the protocol.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace gcg::serve {

struct HttpRequest {
  std::string method, target;  // "POST", "/v2/models/m/infer?x=y"
  std::string body;
  std::string authorization, content_encoding, accept_encoding;
  std::string json_length;  // Inference-Header-Content-Length
};

struct HttpReply {
  unsigned status = 200;
  std::string body;
  std::string type = "application/json";
  std::string encoding;               // Content-Encoding
  std::optional<size_t> json_length;  // Inference-Header-Content-Length: binary tensors follow the JSON
  bool closes = false;                // the connection ends after the reply
};

/// Called once, by any thread.
using Answer = std::function<void(HttpReply)>;
using Handler = std::function<void(HttpRequest, Answer)>;

/// {"error": message}
HttpReply error_reply(unsigned status, const std::string& message);

}  // namespace gcg::serve
