// Sets of CPU cores: those that a pool is given, and those that it may have.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>

namespace gart::cpu {

/// Cores by the system's numbers; as text "0-3,8".
class Cores {
 public:
  /// That this thread may use.
  static Cores allowed();
  /// Of a device "cpu:0-3,8". Throws Failure where that is malformed, or names a core that is not allowed.
  static Cores of_device(std::string_view name);

  int count() const { return CPU_COUNT(&set_); }
  bool has(int core) const { return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &set_); }
  bool contains(const Cores& other) const;
  friend bool operator==(const Cores& a, const Cores& b) { return CPU_EQUAL(&a.set_, &b.set_) != 0; }
  std::string text() const;
  /// Binds a thread (0: this one) to them. False: the system refuses.
  bool bind(pid_t thread = 0) const { return sched_setaffinity(thread, sizeof set_, &set_) == 0; }

 private:
  cpu_set_t set_ = {};
};

/// Keeps this thread on cores, and then gives it back those that it had.
class OnCores {
 public:
  explicit OnCores(const Cores& cores) : before_(Cores::allowed()), moved_(!cores.contains(before_) && cores.bind()) {}
  ~OnCores() {
    if (moved_) before_.bind();
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  const Cores before_;
  const bool moved_;
};

}  // namespace gart::cpu
