// OpenAI's routes for text: /v1/models, /v1/completions and /v1/chat/completions.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/generation.h"
#include "tools/serve/repository.h"

namespace gcg::serve {

class OpenAi {
 public:
  OpenAi(const TextModels& models, Repository& repository, Generations& generations)
      : models_(models), repository_(repository), generations_(generations) {}

  /// `path`: the parts of the path after "v1". Throws Refusal, or answers later.
  void handle(HttpRequest request, const std::vector<std::string>& path, Answer answer);

 private:
  void generate(HttpRequest request, bool is_chat, Answer answer);
  std::string models_json(const std::string& id) const;

  const TextModels& models_;
  Repository& repository_;
  Generations& generations_;
};

}  // namespace gcg::serve
