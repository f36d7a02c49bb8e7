// Requests and replies between the HTTP server and the protocol.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/serve/client.h"
#include "tools/serve/reply_stream.h"

namespace gcg::serve {

struct HttpRequest {
  std::string method, target;  // "POST", "/v2/models/m/infer?x=y"
  std::string body;
  std::string authorization, content_encoding, accept_encoding;
  std::string json_length;         // Inference-Header-Content-Length
  std::shared_ptr<Client> client;  // never null
};

struct HttpReply {
  unsigned status = 200;
  std::string body;
  std::string type = "application/json";
  std::string encoding;                 // Content-Encoding
  std::optional<size_t> json_length;    // Inference-Header-Content-Length: binary tensors follow the JSON
  bool closes = false;                  // the connection ends after the reply
  std::shared_ptr<ReplyStream> stream;  // not null: the body comes from it, and `body` is empty
};

/// Called once, by any thread.
using Answer = std::function<void(HttpReply)>;
using Handler = std::function<void(HttpRequest, Answer)>;

/// {"error": message}
HttpReply error_reply(unsigned status, const std::string& message);

}  // namespace gcg::serve
