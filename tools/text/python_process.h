// A Python program that answers each line of input with a line of output.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace gcg::tools {

/// The interpreters to try, in this order: $GCC_GRAPH_PYTHON, $VIRTUAL_ENV's, and python3 in PATH.
std::vector<std::string> python_candidates();

class PythonProcess {
 public:
  /// Starts `python -c script arguments...`. Throws Error if there is no such interpreter.
  PythonProcess(const std::string& python, const std::string& script, const std::vector<std::string>& arguments);
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  /// Ends the program.
  ~PythonProcess();

  /// False: the program has ended.
  bool send(const std::string& line);
  /// The next line of its output, without the line's end; nullopt: the program has ended.
  std::optional<std::string> receive();

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
  std::string unread_;
};

}  // namespace gcg::tools
