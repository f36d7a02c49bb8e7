#include "tools/gcc-graph/io/save_temps.h"

#include <cctype>
#include <filesystem>
#include <sstream>

#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char *kAfter = "# after ", *kPlan = "plan for ", *kCode = "code ";

/// "matmul_add (x)" as a part of a file name.
std::string file_part(const std::string& text) {
  std::string part;
  for (const char c : text) part += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '.';
  return part;
}

struct Piece {
  std::string name, ending, text;
};

/// The piece that begins with this line; its name is empty if no piece begins here.
Piece piece_of(const std::string& line) {
  if (line.starts_with(kAfter)) return {file_part(line.substr(std::string(kAfter).size())), ".gir", ""};
  if (line.starts_with(kPlan)) return {"plan", ".txt", ""};
  if (!line.starts_with(kCode)) return {};
  std::istringstream words(line);
  std::string word, target, number, kernel;
  words >> word >> target >> number >> kernel;
  if (kernel.size() < 2 || kernel.front() != '\'') return {};
  const bool gpu = target.starts_with("sm_") || target == "ptx";
  return {file_part(target + "-" + kernel.substr(1, kernel.size() - 2)), gpu ? ".cu" : ".s", ""};
}

class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) fail("--save-temps ", path, ": ", error.message());
  }
  /// Skips a graph that equals the previous one, because the pass did not change it.
  void write(const Piece& piece) {
    const std::string body = piece.text.substr(piece.text.find('\n') + 1);
    if (piece.name.empty() || (piece.ending == ".gir" && body == last_graph_)) return;
    if (piece.ending == ".gir") last_graph_ = body;
    std::string number = std::to_string(++count_);
    number.insert(0, number.size() < 3 ? 3 - number.size() : 0, '0');
    write_file((fs::path(path_) / (number + "-" + piece.name + piece.ending)).string(),
               {piece.text.begin(), piece.text.end()});
  }

 private:
  std::string path_, last_graph_;
  int count_ = 0;
};

}  // namespace

void save_temps(const std::string& folder, const std::string& printed) {
  Folder files(folder);
  std::istringstream lines(printed);
  Piece piece;
  for (std::string line; std::getline(lines, line);) {
    if (Piece next = piece_of(line); !next.name.empty()) {
      files.write(piece);
      piece = std::move(next);
    }
    piece.text += line + '\n';
  }
  files.write(piece);
}

}  // namespace gcg::tools
