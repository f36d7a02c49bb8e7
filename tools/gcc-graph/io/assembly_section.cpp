#include "tools/gcc-graph/io/assembly_section.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "artifact_schema/digest.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/signature_watch.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0) : number_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

bool write_at(const File& file, std::span<const uint8_t> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

/// Shares blocks of the file if the file system supports it; otherwise the kernel copies the bytes.
bool copy(const File& from, const File& to, uint64_t bytes) {
  if (ioctl(to.number(), FICLONE, from.number()) == 0) return true;
  off_t source = 0, target = 0;
  while (bytes > 0) {
    const ssize_t copied = copy_file_range(from.number(), &source, to.number(), &target, bytes, 0);
    if (copied <= 0) return false;
    bytes -= static_cast<uint64_t>(copied);
  }
  return true;
}

/// The start of a file with the new assembly, and the assembly's position.
struct FileHead {
  std::vector<uint8_t> header;  // prologue and section table
  uint64_t assembly = 0, total = 0;
};

FileHead front_with(const gart::ArtifactView& artifact, std::span<const uint8_t> section) {
  std::vector<gart::SectionEntry> table = artifact.sections;
  table.back().size = section.size();
  table.back().digest = gart::digest_section(section);
  gart::Prologue prologue;
  std::memcpy(&prologue, artifact.file.data(), sizeof(prologue));
  prologue.total_bytes = table.back().offset + section.size();
  prologue.digest = gart::digest_header(prologue, table);
  FileHead out{std::vector<uint8_t>(sizeof(prologue) + table.size() * sizeof(table[0])), table.back().offset,
               prologue.total_bytes};
  std::memcpy(out.header.data(), &prologue, sizeof(prologue));
  std::memcpy(out.header.data() + sizeof(prologue), table.data(), table.size() * sizeof(table[0]));
  return out;
}

bool write_front(const File& file, const FileHead& front, std::span<const uint8_t> section) {
  return write_at(file, section, front.assembly) && ftruncate(file.number(), static_cast<off_t>(front.total)) == 0 &&
         write_at(file, front.header, 0);
}

/// Fails if a runtime would refuse the file, because the assembly may come from measurements with arbitrary contents.
void verify_written(const std::string& path) {
  try {
    const MappedArtifact written(path);
  } catch (const Error& error) {
    const std::string why = error.what();
    std::remove(path.c_str());
    fail("nothing was written: with this placement, ", why.substr(std::min(why.size(), path.size() + 2)));
  }
}

bool change_copy(const std::string& from, const std::string& to, const gart::ArtifactView& artifact,
                 const FileHead& front, std::span<const uint8_t> section) {
  const std::string temporary = to + ".tmp" + std::to_string(getpid());
  const File source(from, O_RDONLY);
  struct stat facts = {};
  if (!source.ok() || fstat(source.number(), &facts) != 0) return false;
  const File file(temporary, O_RDWR | O_CREAT | O_TRUNC, facts.st_mode & 0777);
  if (file.ok() && copy(source, file, artifact.file.size()) && write_front(file, front, section)) {
    verify_written(temporary);
    if (std::rename(temporary.c_str(), to.c_str()) == 0) return true;
  }
  const int error = errno;
  std::remove(temporary.c_str());
  errno = error;
  return false;
}

bool is_same(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

}  // namespace

MappedArtifact::MappedArtifact(const std::string& path) {
  const File file(path, O_RDONLY);
  struct stat facts = {};
  if (!file.ok() || fstat(file.number(), &facts) != 0) fail("cannot read ", path, ": ", std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) fail("cannot read ", path, ": it is not a regular file");
  const auto size = static_cast<size_t>(facts.st_size);
  void* place = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (size == 0) fail(path, ": the file is empty");
  if (place == MAP_FAILED) fail("cannot read ", path, ": ", std::strerror(errno));
  bytes_ = {static_cast<const uint8_t*>(place), size};
  gart::Status status = gart::read_artifact(bytes_, view_, {.digests = false});
  if (status.ok()) status = verify_whole(view_);
  if (!status.ok()) {
    munmap(place, size);
    fail(path, ": ", status.message);
  }
}

MappedArtifact::~MappedArtifact() { munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size()); }

const gart::fb::Assembly& assembly_of(const gart::ArtifactView& artifact) {
  const std::span<const uint8_t> section = artifact.assembly();
  flatbuffers::Verifier verifier(section.data(), section.size());
  if (!gart::fb::VerifyAssemblyBuffer(verifier)) fail("the fleet plan is damaged");
  return *gart::fb::GetAssembly(section.data());
}

namespace {

/// The weights that the parts of each group read.
gcc_graph::GroupWeights group_weights(const gart::ArtifactView& artifact, const gart::fb::Assembly& assembly) {
  gcc_graph::GroupWeights out(assembly.groups() == nullptr ? 0 : assembly.groups()->size());
  const auto* entries = artifact.manifest->entry_points();
  std::vector<std::set<uint64_t>> seen(out.size());
  if (assembly.calls() == nullptr) return out;
  for (const auto* call : *assembly.calls()) {
    if (call->group() >= out.size())
      fail("fleet plan: a call names group ", call->group(), ", but there are only ", out.size());
    if (call->entry() >= entries->size())
      fail("fleet plan: a call names entry point ", call->entry(), ", but there are only ", entries->size());
    const gart::fb::EntryPoint& entry = *entries->Get(call->entry());
    const size_t symbols = entry.symbols() == nullptr ? 0 : entry.symbols()->size();
    if (entry.plans() == nullptr) continue;
    for (const auto* plan : *entry.plans()) {
      if (plan->buffers() == nullptr) continue;
      for (const auto* buffer : *plan->buffers()) {
        if (buffer->kind() != gart::fb::BufferKind::constant || buffer->alias_of() >= 0) continue;
        const uint64_t instruction = uint64_t{buffer->size()} - symbols;
        const bool known =
            buffer->size() >= symbols && plan->program() != nullptr && instruction < plan->program()->size();
        const int64_t bytes = known ? plan->program()->Get(static_cast<uint32_t>(instruction))->value() : 0;
        if (seen[call->group()].insert(buffer->offset()).second)
          out[call->group()].push_back({buffer->offset(), bytes});
      }
    }
  }
  return out;
}

}  // namespace

gcc_graph::Placing placing_of(const gart::ArtifactView& artifact) {
  return gcc_graph::Placing(artifact.assembly(), group_weights(artifact, assembly_of(artifact)));
}

void write_assembly(const std::string& from, const std::string& to, std::span<const uint8_t> section) {
  check_writable(to);
  const MappedArtifact artifact(from);
  if (artifact.view().assembly().empty()) fail(from, ": it has no fleet plan: it was not compiled for a fleet");
  const FileHead front = front_with(artifact.view(), section);
  const SignatureWatch signature(to);
  const std::string target = is_same(from, to) ? fs::canonical(from).string() : to;
  if (!change_copy(from, target, artifact.view(), front, section))
    fail("cannot write ", to, ": ", std::strerror(errno));
  signature.tell();
}

}  // namespace gcg::tools
