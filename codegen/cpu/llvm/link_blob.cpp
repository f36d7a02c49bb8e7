#include "codegen/cpu/llvm/link_blob.h"

#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "codegen/cpu/llvm/relocation.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using SectionHeader = llvm::object::ELF64LE::Shdr;
using Symbol = llvm::object::ELF64LE::Sym;

constexpr uint64_t kFunctionAlign = 64;

template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  GCG_CHECK(static_cast<bool>(value), "object file: ", what, ": ", llvm::toString(value.takeError()));
  return *value;
}

uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

/// Places the sections of one object into the blob and resolves their references.
class ObjectLinker {
 public:
  using FunctionOffsets = std::map<std::string, uint64_t, std::less<>>;  // offsets of functions that objects may call

  /// `shared` receives the functions that the object defines besides its entry.
  ObjectLinker(std::span<const char> object, LinkedBlob& blob, FunctionOffsets& shared)
      : file_(expect(ElfFile::create({object.data(), object.size()}), "header")),
        sections_(expect(file_.sections(), "sections")),
        blob_(&blob),
        shared_(&shared) {}

  LinkedBlob::Function link(const std::string& entry) {
    for (const bool code : {true, false})
      for (size_t i = 0; i < sections_.size(); ++i)
        if (((sections_[i].sh_flags & llvm::ELF::SHF_EXECINSTR) != 0) == code) place(i);
    read_symbols();
    for (const SectionHeader& section : sections_) {
      GCG_CHECK(section.sh_type != llvm::ELF::SHT_REL, "object file: relocations without addends");
      if (section.sh_type == llvm::ELF::SHT_RELA) relocate(section);
    }
    LinkedBlob::Function found;
    for (const Symbol& symbol : symbols_) {
      if (symbol.getType() != llvm::ELF::STT_FUNC || symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      const std::string_view name = expect(symbol.getName(names_), "symbol name");
      if (name == entry)
        found = {symbol_offset(symbol), sections_[symbol.st_shndx].sh_size + data_bytes_};
      else if (symbol.getBinding() == llvm::ELF::STB_GLOBAL)
        shared_->emplace(name, symbol_offset(symbol));
    }
    GCG_CHECK(found.size != 0, "object file: function ", entry, " is missing");
    return found;
  }

 private:
  void place(size_t index) {
    const SectionHeader& section = sections_[index];
    if ((section.sh_flags & llvm::ELF::SHF_ALLOC) == 0 || section.sh_size == 0) return;
    const llvm::StringRef name = expect(file_.getSectionName(section), "section name");
    GCG_CHECK((section.sh_flags & llvm::ELF::SHF_WRITE) == 0 && section.sh_type == llvm::ELF::SHT_PROGBITS,
              "object file: section ", name.str(), " is not read-only data or code");
    const bool code = (section.sh_flags & llvm::ELF::SHF_EXECINSTR) != 0;
    const uint64_t align = std::max<uint64_t>(section.sh_addralign, code ? kFunctionAlign : 1);
    const uint64_t offset = align_up(blob_->bytes.size(), align);
    const auto contents = expect(file_.getSectionContents(section), "section contents");
    blob_->bytes.resize(offset);
    blob_->bytes.insert(blob_->bytes.end(), contents.begin(), contents.end());
    offsets_[index] = offset;
    if (!code) data_bytes_ += section.sh_size;
  }

  void read_symbols() {
    for (const SectionHeader& section : sections_) {
      if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
      symbols_ = expect(file_.symbols(&section), "symbols");
      names_ = expect(file_.getStringTableForSymtab(section, sections_), "symbol names");
    }
  }

  uint64_t symbol_offset(const Symbol& symbol) {
    const std::string_view name = expect(symbol.getName(names_), "symbol name");
    if (symbol.st_shndx == llvm::ELF::SHN_UNDEF)
      if (const auto shared = shared_->find(name); shared != shared_->end()) return shared->second;
    auto found = offsets_.find(symbol.st_shndx);
    GCG_CHECK(found != offsets_.end(), "kernel code refers to '", name, "', which no section of it defines");
    return found->second + symbol.st_value;
  }

  void relocate(const SectionHeader& section) {
    auto where = offsets_.find(section.sh_info);
    if (where == offsets_.end()) return;  // the symbol belongs to a section that is not loaded
    for (const auto& relocation : expect(file_.relas(section), "relocations")) {
      const uint64_t p = where->second + relocation.r_offset;
      const Symbol& symbol = symbols_[relocation.getSymbol(false)];
      const uint64_t target = symbol_offset(symbol) + static_cast<uint64_t>(int64_t{relocation.r_addend});
      apply_relocation(file_.getHeader().e_machine, relocation.getType(false), blob_->bytes.data() + p, p, target);
    }
  }

  ElfFile file_;
  llvm::ArrayRef<SectionHeader> sections_;
  LinkedBlob* blob_;
  FunctionOffsets* shared_;
  uint64_t data_bytes_ = 0;
  std::map<size_t, uint64_t> offsets_;  // section index -> blob offset
  llvm::ArrayRef<Symbol> symbols_;
  llvm::StringRef names_;
};

}  // namespace

LinkedBlob link_blob(const std::vector<std::span<const char>>& objects, const std::string& entry) {
  LinkedBlob blob;
  ObjectLinker::FunctionOffsets places;
  std::map<std::string_view, LinkedBlob::Function> known;
  for (const auto& object : objects) {
    const std::string_view text(object.data(), object.size());
    auto found = known.find(text);
    if (found == known.end()) found = known.emplace(text, ObjectLinker(object, blob, places).link(entry)).first;
    blob.functions.push_back(found->second);
  }
  return blob;
}

}  // namespace gcg::cpu
