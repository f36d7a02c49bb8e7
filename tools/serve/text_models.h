// The tokenizers of the models that generate text.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/text/model_folder.h"
#include "tools/text/tokenizer.h"

namespace gcg::serve {

struct TextModel {
  explicit TextModel(const std::string& tokenizer_file);

  tools::ModelFolder folder;  // the folder that contains the tokenizer's file
  tools::Tokenizer tokenizer;
  std::vector<int64_t> end_ids;
};

class TextModels {
 public:
  /// `files`: ids of models, and their tokenizer.json. Throws std::exception with a sentence about a file.
  explicit TextModels(const std::vector<std::pair<std::string, std::string>>& files);

  /// Null if the model has no tokenizer.
  std::shared_ptr<TextModel> find(const std::string& id) const;

 private:
  std::map<std::string, std::shared_ptr<TextModel>> models_;
};

}  // namespace gcg::serve
