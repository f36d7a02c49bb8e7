// The reply to a request for text in OpenAI's form: one object, or server-sent events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/serve/completion_request.h"
#include "tools/serve/messages.h"

namespace gcg::serve {

struct TokenCounts {
  int64_t prompt = 0, generated = 0;
};

/// {"error": {"message", "type", "param", "code"}}
HttpReply openai_error(unsigned status, const std::string& message, const std::string& parameter = {});

/// Members may be called in this order: begin(), add() any number of times, finish(). refuse() may replace any of them.
class CompletionReply {
 public:
  CompletionReply(const CompletionRequest& request, Answer answer);
  ~CompletionReply();
  CompletionReply(const CompletionReply&) = delete;
  CompletionReply& operator=(const CompletionReply&) = delete;

  /// The prompt was accepted. From now on events are sent, if the request streams.
  void begin();
  void add(const std::string& text);
  /// `reason`: "stop" or "length".
  void finish(const std::string& reason, const TokenCounts& counts);
  /// An error; the last event if a stream has begun.
  void refuse(unsigned status, const std::string& message, const std::string& parameter = {});

 private:
  std::string head(const char* object) const;
  std::string choice(const std::string& content, const std::string& reason) const;
  void send_event(const std::string& choices, const std::string& usage);

  const bool is_chat_, streams_, includes_usage_;
  const std::string model_, id_;
  const int64_t created_;
  Answer answer_;  // null after the answer
  std::shared_ptr<ReplyStream> stream_;
  std::string text_;
};

}  // namespace gcg::serve
