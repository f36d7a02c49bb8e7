#include "tools/serve/completion_reply.h"

#include <ctime>
#include <random>

#include "tools/serve/json_elements.h"

namespace gcg::serve {
namespace {

std::string new_id(bool is_chat) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string id = is_chat ? "chatcmpl-" : "cmpl-";
  for (int word = 0; word < 3; ++word)
    for (unsigned bits = random(), digit = 0; digit < 8; ++digit, bits >>= 4) id += kDigits[bits & 15];
  return id;
}

std::string usage_json(const TokenCounts& counts) {
  return "{\"prompt_tokens\":" + std::to_string(counts.prompt) +
         ",\"completion_tokens\":" + std::to_string(counts.generated) +
         ",\"total_tokens\":" + std::to_string(counts.prompt + counts.generated) + "}";
}

const char* code_of(unsigned status) {
  switch (status) {
    case 401:
      return "\"invalid_api_key\"";
    case 404:
      return "\"model_not_found\"";
    case 429:
      return "\"rate_limit_exceeded\"";
    default:
      return "null";
  }
}

}  // namespace

HttpReply openai_error(unsigned status, const std::string& message, const std::string& parameter) {
  HttpReply reply;
  reply.status = status;
  const char* type = status == 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  reply.body = "{\"error\":{\"message\":" + in_quotes(message) + ",\"type\":\"" + type +
               "\",\"param\":" + (parameter.empty() ? "null" : in_quotes(parameter)) + ",\"code\":" + code_of(status) +
               "}}";
  return reply;
}

CompletionReply::CompletionReply(const CompletionRequest& request, Answer answer)
    : is_chat_(request.is_chat),
      streams_(request.streams),
      includes_usage_(request.includes_usage),
      model_(request.model),
      id_(new_id(request.is_chat)),
      created_(std::time(nullptr)),
      answer_(std::move(answer)) {}

CompletionReply::~CompletionReply() {
  if (stream_) stream_->end();
}

std::string CompletionReply::head(const char* object) const {
  return "{\"id\":\"" + id_ + "\",\"object\":\"" + object + "\",\"created\":" + std::to_string(created_) +
         ",\"model\":" + in_quotes(model_) + ",\"choices\":[";
}

/// `content`: the members of the choice that hold its text.
std::string CompletionReply::choice(const std::string& content, const std::string& reason) const {
  return "{\"index\":0," + content +
         ",\"logprobs\":null,\"finish_reason\":" + (reason.empty() ? "null" : in_quotes(reason)) + "}";
}

void CompletionReply::send_event(const std::string& choices, const std::string& usage) {
  stream_->write("data: " + head(is_chat_ ? "chat.completion.chunk" : "text_completion") + choices + "]" +
                 (includes_usage_ ? ",\"usage\":" + usage : "") + "}\n\n");
}

void CompletionReply::begin() {
  if (!streams_) return;
  stream_ = std::make_shared<ReplyStream>();
  HttpReply reply;
  reply.type = "text/event-stream; charset=utf-8";
  reply.stream = stream_;
  std::exchange(answer_, nullptr)(std::move(reply));
  if (is_chat_) send_event(choice("\"delta\":{\"role\":\"assistant\",\"content\":\"\"}", ""), "null");
}

void CompletionReply::add(const std::string& text) {
  if (text.empty()) return;
  if (!streams_)
    text_ += text;
  else if (is_chat_)
    send_event(choice("\"delta\":{\"content\":" + in_quotes(text) + "}", ""), "null");
  else
    send_event(choice("\"text\":" + in_quotes(text), ""), "null");
}

void CompletionReply::finish(const std::string& reason, const TokenCounts& counts) {
  if (streams_) {
    send_event(choice(is_chat_ ? "\"delta\":{}" : "\"text\":\"\"", reason), "null");
    if (includes_usage_) send_event("", usage_json(counts));
    stream_->write("data: [DONE]\n\n");
    return std::exchange(stream_, nullptr)->end();
  }
  const std::string content =
      is_chat_ ? "\"message\":{\"role\":\"assistant\",\"content\":" + in_quotes(text_) + ",\"refusal\":null}"
               : "\"text\":" + in_quotes(text_);
  HttpReply reply;
  reply.body = head(is_chat_ ? "chat.completion" : "text_completion") + choice(content, reason) +
               "],\"usage\":" + usage_json(counts) + "}";
  std::exchange(answer_, nullptr)(std::move(reply));
}

void CompletionReply::refuse(unsigned status, const std::string& message, const std::string& parameter) {
  HttpReply error = openai_error(status, message, parameter);
  if (stream_) {
    stream_->write("data: " + error.body + "\n\n");
    return std::exchange(stream_, nullptr)->end();
  }
  if (answer_) std::exchange(answer_, nullptr)(std::move(error));
}

}  // namespace gcg::serve
