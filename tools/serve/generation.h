// Generations of text. A generation takes turns with other requests: it runs in steps of a lane.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/serve/completion_reply.h"
#include "tools/serve/lanes.h"
#include "tools/serve/text_models.h"
#include "tools/text/stop_text.h"

namespace gcg::serve {

class Generations;

class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(CompletionRequest request, std::shared_ptr<TextModel> text, Answer answer, Generations& all);

  const CompletionRequest& request() const { return request_; }
  void set_model(std::shared_ptr<Model> model) { model_ = std::move(model); }
  /// Generates until other requests wait. Returns true if tokens are left to generate.
  bool step();
  /// The client has left. For any thread.
  void cancel();
  void refuse(unsigned status, const std::string& message, const std::string& parameter = {});

 private:
  void prepare();
  std::vector<int64_t> prompt_ids();
  void limit_tokens(int64_t prompt);
  bool run();
  bool add_token(int64_t id);
  void finish(const std::string& reason);
  void count(bool succeeded);

  CompletionRequest request_;
  const std::shared_ptr<TextModel> text_;
  Generations& all_;
  std::shared_ptr<Model> model_;
  CompletionReply reply_;
  tools::StopText stops_;
  std::optional<tools::TokenText> tokens_;
  std::vector<int64_t> next_;  // tokens that the model has not read
  TokenCounts counts_;
  RequestTimes times_;
  Clock::time_point turn_;  // when the current step began
  std::exception_ptr failure_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  // guards generator_, which cancel() uses from other threads
  std::optional<gart::Generator> generator_;
};

/// The generations of a server. At most `most` have a session; others wait.
class Generations {
 public:
  Generations(Lanes& lanes, size_t most, bool logs) : lanes_(lanes), most_(most), logs_(logs) {}

  /// Throws Refusal if there is no room.
  void begin(const std::shared_ptr<Generation>& generation);
  /// Ends a generation early. For any thread.
  void drop(const std::shared_ptr<Generation>& generation);
  size_t count() const;

 private:
  friend class Generation;
  void run_step(const std::shared_ptr<Generation>& generation);
  void submit(const std::shared_ptr<Generation>& generation);

  Lanes& lanes_;
  const size_t most_;
  const bool logs_;
  mutable std::mutex mutex_;
  size_t running_ = 0;
  std::list<std::shared_ptr<Generation>> waiting_;
};

}  // namespace gcg::serve
