// Tells objects with threads whether they are still in the process that made them: threads do not exist in a child of
// fork().
#pragma once

#include <pthread.h>

namespace gart {

class Origin {
 public:
  Origin() {
    [[maybe_unused]] static const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks_; });
  }
  bool here() const { return born_ == forks_; }

 private:
  static inline int forks_ = 0;  // forks from the process of the first Origin to this process
  const int born_ = forks_;
};

}  // namespace gart
