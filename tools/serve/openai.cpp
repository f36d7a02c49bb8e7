#include "tools/serve/openai.h"

#include <ctime>

#include "tools/serve/json_elements.h"
#include "tools/serve/refusal.h"
#include "tools/store/store_error.h"

namespace gcg::serve {
namespace {

gart::store::Reference reference_to(const std::string& model) try {
  return gart::store::parse_reference(model);
} catch (const gart::store::StoreError& error) {
  throw Refusal(404, error.what(), "model");
}

/// Seconds since 1970 of "2026-01-31 12:00:00".
int64_t seconds_of(const std::string& utc) {
  std::tm time = {};
  return strptime(utc.c_str(), "%Y-%m-%d %H:%M:%S", &time) == nullptr ? 0 : timegm(&time);
}

void need(const HttpRequest& request, const char* method) {
  if (request.method != method)
    refuse(405, request.target.substr(0, 100), " takes ", method, ", not ", request.method.substr(0, 20));
}

}  // namespace

void OpenAi::handle(HttpRequest request, const std::vector<std::string>& path, Answer answer) {
  if (path.size() <= 2 && !path.empty() && path[0] == "models") {
    need(request, "GET");
    HttpReply reply;
    reply.body = models_json(path.size() == 2 ? path[1] : "");
    return answer(std::move(reply));
  }
  const bool is_chat = path == std::vector<std::string>{"chat", "completions"};
  if (!is_chat && path != std::vector<std::string>{"completions"})
    refuse(404, "this server has nothing at ", request.target.substr(0, 100));
  need(request, "POST");
  generate(std::move(request), is_chat, std::move(answer));
}

/// The list of models with a tokenizer, or one of them.
std::string OpenAi::models_json(const std::string& id) const {
  std::string list;
  std::string last;
  for (const gart::store::StoredVersion& version : repository_.stored()) {
    if (version.id == last || !models_.find(version.id) || (!id.empty() && version.id != id)) continue;
    last = version.id;
    list += (list.empty() ? "" : ",") + ("{\"id\":" + in_quotes(version.id)) +
            ",\"object\":\"model\",\"created\":" + std::to_string(seconds_of(version.added)) +
            ",\"owned_by\":\"gcc-graph\"}";
  }
  if (id.empty()) return "{\"object\":\"list\",\"data\":[" + list + "]}";
  if (list.empty())
    throw Refusal(404, "this server generates no text with a model '" + id.substr(0, 128) + "'", "model");
  return list;
}

void OpenAi::generate(HttpRequest request, bool is_chat, Answer answer) {
  CompletionRequest completion = parse_completion(request.body, is_chat);
  const gart::store::Reference reference = reference_to(completion.model);
  const std::shared_ptr<TextModel> text = models_.find(reference.id);
  if (!text)
    throw Refusal(404,
                  "the model '" + reference.id + "' has no tokenizer here: start the server with --tokenizer " +
                      reference.id + "=FILE",
                  "model");
  const auto generation = std::make_shared<Generation>(std::move(completion), text, std::move(answer), generations_);
  request.client->watch([this, weak = std::weak_ptr(generation)] {
    if (const auto alive = weak.lock()) generations_.drop(alive);
  });
  repository_.with_model(
      reference.id, reference.version ? std::to_string(*reference.version) : "",
      [this, generation](std::shared_ptr<Model> model) {
        generation->set_model(std::move(model));
        try {
          generations_.begin(generation);
        } catch (const Refusal& refusal) {
          generation->refuse(refusal.status(), refusal.what());
        }
      },
      [generation](unsigned status, const std::string& message) {
        generation->refuse(status, message, status == 404 ? "model" : "");
      });
}

}  // namespace gcg::serve
