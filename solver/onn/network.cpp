// SPDX-License-Identifier: Apache-2.0
#include "solver/onn/network.hpp"

#include <fmt/format.h>

#include "solver/error.hpp"

namespace optinc {

namespace {

void require(bool condition, std::size_t layer, const std::string& problem) {
  if (!condition) throw DataError(fmt::format("network layer {}: {}", layer, problem));
}

void validate_layer(const NetworkLayer& layer, std::size_t index, Eigen::Index inputs, bool last) {
  require(layer.weight.rows() > 0, index, "weight has no rows");
  require(layer.weight.cols() == inputs, index,
          fmt::format("weight takes {} inputs (the layer before gives {})", layer.weight.cols(),
                      inputs));
  require(layer.bias.size() == layer.weight.rows(), index,
          fmt::format("bias has {} elements (weight gives {} outputs)", layer.bias.size(),
                      layer.weight.rows()));
  require(layer.weight.allFinite() && layer.bias.allFinite(), index,
          "weight or bias has an element that is NaN or infinite");
  require((layer.activation == Activation::identity) == last, index,
          last ? "the last layer must have activation identity"
               : "only the last layer may have activation identity");
  require(layer.activation != Activation::clipped_relu || (layer.clip > 0 && layer.clip < 1e300),
          index, "clip must be positive and finite");
}

}  // namespace

void validate(const Network& network) {
  validate(network.format);
  if (network.layers.empty()) throw DataError("network has no layers");
  Eigen::Index inputs = network.format.inputs();
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    validate_layer(network.layers[i], i, inputs, i + 1 == network.layers.size());
    inputs = network.layers[i].weight.rows();
  }
  if (inputs != network.format.output_digits()) {
    throw DataError(fmt::format("network gives {} outputs (a {}-bit code{} has {} digits)", inputs,
                                network.format.bits,
                                network.format.output_fraction_digits > 0 ? " with fraction" : "",
                                network.format.output_digits()));
  }
}

}  // namespace optinc
