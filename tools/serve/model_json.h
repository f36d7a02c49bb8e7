// A model's metadata and configuration as JSON.
#pragma once

#include <string>

#include "tools/serve/model.h"

namespace gcg::serve {

/// {"name", "versions", "platform", "inputs", "outputs"}; symbolic extents are -1.
std::string metadata_json(const Model& model);
/// The fields of Triton's configuration that this server has.
std::string configuration_json(const Model& model);
/// The page for GET /: the models of the store.
std::string page_html(const std::vector<gart::store::StoredVersion>& versions,
                      const std::function<bool(const gart::store::StoredVersion&)>& is_loaded);

}  // namespace gcg::serve
