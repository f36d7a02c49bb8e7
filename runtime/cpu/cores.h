// Sets of CPU cores: those given to a pool, and those that a thread may use.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>

namespace gart::cpu {

/// A set of cores by the system's numbers; as text "0-3,8".
class Cores {
 public:
  /// The cores that this thread may use.
  static Cores allowed();
  /// The cores of a device name such as "cpu:0-3,8". Throws Failure if the name is malformed or names a core that is
  /// not allowed.
  static Cores of_device(std::string_view name);

  int count() const { return CPU_COUNT(&set_); }
  bool has(int core) const { return core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &set_); }
  bool contains(const Cores& other) const;
  friend bool operator==(const Cores& a, const Cores& b) { return CPU_EQUAL(&a.set_, &b.set_) != 0; }
  std::string text() const;
  /// Binds a thread (0: this one) to these cores. Returns false if the system refuses.
  bool bind(pid_t thread = 0) const { return sched_setaffinity(thread, sizeof set_, &set_) == 0; }

 private:
  cpu_set_t set_ = {};
};

/// Binds this thread to `cores` unless it is confined to them already; the destructor restores its previous cores.
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
