#include "tools/gcc-graph/train/workers.h"

namespace gcg::tools {

Workers::Workers(size_t count) : calls_(count) {
  for (size_t i = 1; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
}

Workers::~Workers() {
  stops_ = true;
  for (std::atomic<uint32_t>& call : calls_) {
    ++call;
    call.notify_one();
  }
}

void Workers::run(size_t count, const std::function<void(size_t)>& work) {
  work_ = &work;
  busy_ = count - 1;
  for (size_t i = 1; i < count; ++i) {
    ++calls_[i];
    calls_[i].notify_one();
  }
  work(0);
  for (size_t busy; (busy = busy_) > 0;) busy_.wait(busy);
}

void Workers::serve(size_t index) {
  for (uint32_t seen = 0;; ++seen) {
    calls_[index].wait(seen);
    if (stops_) return;
    (*work_)(index);
    if (--busy_ == 0) busy_.notify_one();
  }
}

}  // namespace gcg::tools
