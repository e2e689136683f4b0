// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/server_chip.hpp"

#include <complex>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/optinc/batches.hpp"

namespace optinc {

namespace {

/// The chip's layers with the first one widened: Re(W a) = Re W Re a - Im W Im a.
std::vector<RealLayer> layers_for_fields(const ChipOptics& chip) {
  std::vector<RealLayer> layers = chip.layers;
  Eigen::MatrixXd& weight = layers.front().weight;
  Eigen::MatrixXd wide(weight.rows(), 2 * weight.cols());
  wide << weight, -chip.first_quadrature;
  weight = std::move(wide);
  return layers;
}

}  // namespace

void validate(const CombinerImperfections& imperfections) {
  if (imperfections.mode == CombinerMode::coherent) return;
  if (imperfections.phase_sigma_rad == 0 && imperfections.server_phase_sigma_rad == 0) return;
  throw ConfigError(fmt::format(
      "imperfections.{} is given but combiner.mode is \"incoherent\" (detection does not see "
      "phases); set it to 0 or choose \"coherent\"",
      imperfections.phase_sigma_rad != 0 ? "combiner.phase_sigma_rad"
                                         : "laser.server_phase_sigma_rad"));
}

Eigen::MatrixXcd combiner_weights(const CombinerImperfections& imperfections,
                                  const CodeFormat& format, std::uint64_t seed, std::uint32_t chip,
                                  std::uint16_t first_server) {
  Eigen::MatrixXcd weights(format.inputs(), format.servers);
  for (Eigen::Index server = 0; server < weights.cols(); ++server) {
    for (Eigen::Index group = 0; group < weights.rows(); ++group) {
      const Complex<double> weight = combiner_weight(
          imperfections, seed, chip, static_cast<std::uint16_t>(first_server + server),
          static_cast<std::uint32_t>(group));
      weights(group, server) = {weight.re, weight.im};
    }
  }
  return weights;
}

Eigen::MatrixXd combined_fields(const CodeFormat& format, const Eigen::MatrixXcd& weights,
                                std::span<const std::uint32_t> values) {
  const Eigen::Index groups = weights.rows();
  const Eigen::Index servers = weights.cols();
  const auto elements = static_cast<Eigen::Index>(values.size()) / servers;
  const int shift = 2 * format.digits_per_input;
  const std::uint32_t mask = (std::uint32_t{1} << shift) - 1;
  const auto count = static_cast<double>(servers);
  Eigen::MatrixXd fields(2 * groups, elements);
  for (Eigen::Index element = 0; element < elements; ++element) {
    const std::uint32_t* sent = values.data() + element * servers;
    for (Eigen::Index group = 0; group < groups; ++group) {
      std::complex<double> sum = 0;
      for (Eigen::Index server = 0; server < servers; ++server) {
        const std::uint32_t level = (sent[server] >> (shift * static_cast<int>(group))) & mask;
        sum += static_cast<double>(level) * weights(group, server);
      }
      fields(group, element) = sum.real() / count;
      fields(groups + group, element) = sum.imag() / count;
    }
  }
  return fields;
}

std::vector<std::uint32_t> training_values(const CodeFormat& format,
                                           const std::vector<CodeKey>& codes) {
  const auto servers = static_cast<CodeKey>(format.servers);
  const auto levels = static_cast<CodeKey>(format.levels());
  const int shift = 2 * format.digits_per_input;
  std::vector<std::uint32_t> values(codes.size() * servers, 0);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CodeKey code = codes[i];
    for (int group = 0; group < format.inputs(); ++group) {
      const CodeKey level = code % levels;
      code /= levels;
      for (CodeKey server = 0; server < servers; ++server) {
        const CodeKey share = level / servers + (server < level % servers ? 1 : 0);
        values[i * servers + server] |= static_cast<std::uint32_t>(share) << (shift * group);
      }
    }
  }
  return values;
}

ServerChip::ServerChip(const CodeFormat& format, const ChipOptics& chip, Eigen::MatrixXcd weights,
                       const Backend& backend, ReceiverOptions receiver,
                       const std::vector<CodeKey>& codes)
    : format_(format),
      backend_(backend),
      weights_(std::move(weights)),
      layers_(layers_for_fields(chip)),
      receiver_(std::move(receiver), outputs(training_values(format, codes)),
                target_values(format, codes)) {}

Eigen::MatrixXd ServerChip::outputs(std::span<const std::uint32_t> values) const {
  return backend_.evaluate_codes(layers_, combined_fields(format_, weights_, values));
}

std::vector<std::int64_t> ServerChip::decode(std::span<const std::uint32_t> values,
                                             std::uint64_t first_element) const {
  return in_batches<std::vector<std::int64_t>>(
      format_.servers, values, [&](std::span<const std::uint32_t> part, std::uint64_t first) {
        return receiver_.decode(outputs(part), first_element + first);
      });
}

Decoded ServerChip::decisions(std::span<const std::uint32_t> values) const {
  return in_batches<Decoded>(format_.servers, values,
                             [&](std::span<const std::uint32_t> part, std::uint64_t /*first*/) {
                               return receiver_.decisions(outputs(part));
                             });
}

}  // namespace optinc
