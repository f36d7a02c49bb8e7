#include "tools/serve/text_models.h"

#include <filesystem>

namespace gcg::serve {

TextModel::TextModel(const std::string& tokenizer_file)
    : folder(tools::read_model_folder(std::filesystem::path(tokenizer_file).parent_path().string())),
      tokenizer(tokenizer_file),
      end_ids(tokenizer.end_ids(folder)) {}

TextModels::TextModels(const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [id, file] : files) models_[id] = std::make_shared<TextModel>(file);
}

std::shared_ptr<TextModel> TextModels::find(const std::string& id) const {
  const auto found = models_.find(id);
  return found == models_.end() ? nullptr : found->second;
}

}  // namespace gcg::serve
