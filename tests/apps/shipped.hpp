// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace optinc::test {

inline const std::string data_folder = std::string(OPTINC_SOURCE_DIR) + "/data/";
inline const std::string llama_trace = data_folder + "traces/llama_wikitext2.h5";
inline const std::string resnet_trace = data_folder + "traces/resnet50_cifar100.h5";

}  // namespace optinc::test
