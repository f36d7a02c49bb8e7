// Threads do not live on in a child of fork(): what works by them knows by this whether it is still in its process.
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
  static inline int forks_ = 0;  // between the first process of the program and this one, since there is an origin
  const int born_ = forks_;
};

}  // namespace gart
