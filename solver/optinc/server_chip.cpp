// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/server_chip.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "solver/error.hpp"
#include "solver/optinc/batches.hpp"

namespace optinc {

namespace {

double activated(const RealLayer& layer, double value) {
  const auto [lowest, highest] = activation_limits(layer.activation, layer.clip);
  return std::clamp(value, lowest, highest);
}

/// The last layer's amplifiers disturb what the receiver decides on.
ReceiverOptions with_amplifiers(ReceiverOptions receiver, const ChipOptics& chip,
                                const SymbolNoise& noise) {
  if (noise.amplifier_sigma != 0) {
    receiver.output_sigma_digits.assign(static_cast<std::size_t>(chip.layers.back().weight.rows()),
                                        chip.layer_gains.back() * noise.amplifier_sigma);
  }
  return receiver;
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

std::vector<double> group_amplitudes(const CodeFormat& format,
                                     const std::array<double, 4>& levels) {
  constexpr std::size_t base = 4;
  const std::size_t count = std::size_t{1} << (2 * static_cast<unsigned>(format.digits_per_input));
  std::vector<double> amplitudes(count);
  for (std::size_t value = 0; value < count; ++value) {
    double weight = 1;
    std::size_t rest = value;
    for (int digit = 0; digit < format.digits_per_input; ++digit) {
      amplitudes[value] += weight * levels.at(rest % base);
      rest /= base;
      weight *= static_cast<double>(base);
    }
  }
  return amplitudes;
}

Eigen::MatrixXd combined_fields(const CodeFormat& format, const Eigen::MatrixXcd& weights,
                                const SentValues& sent) {
  const Eigen::Index groups = weights.rows();
  const Eigen::Index servers = weights.cols();
  const auto elements = static_cast<Eigen::Index>(sent.values.size()) / servers;
  const int shift = 2 * format.digits_per_input;
  const std::uint32_t mask = (std::uint32_t{1} << shift) - 1;
  const auto count = static_cast<double>(servers);
  Eigen::MatrixXd fields(2 * groups, elements);
  Eigen::MatrixXcd turned = weights;
  for (Eigen::Index element = 0; element < elements; ++element) {
    const std::uint32_t* values = sent.values.data() + element * servers;
    if (sent.turns.size() != 0) turned = weights * sent.turns.col(element).asDiagonal();
    for (Eigen::Index group = 0; group < groups; ++group) {
      std::complex<double> sum = 0;
      for (Eigen::Index server = 0; server < servers; ++server) {
        const std::uint32_t level = (values[server] >> (shift * static_cast<int>(group))) & mask;
        sum += sent.amplitudes[level] * turned(group, server);
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

ServerChip::ServerChip(const CodeFormat& format, std::span<const ChipOptics> chip,
                       Eigen::MatrixXcd weights, const Backend& backend, ReceiverOptions receiver,
                       const std::vector<CodeKey>& codes, const SymbolEffects& effects,
                       const SymbolStreams& streams)
    : format_(format),
      backend_(backend),
      weights_(std::move(weights)),
      effects_(effects),
      streams_(streams),
      amplitudes_(group_amplitudes(format, transmitted_levels(effects.transmitter, effects.mode))),
      pedestal_(amplitudes_.front()),
      gains_(chip.front().layer_gains),
      layers_(layers_for_fields(chip.front())),
      receiver_(with_amplifiers(std::move(receiver), chip.front(), effects.noise),
                quiet_outputs(training_values(format, codes)), target_values(format, codes)) {
  for (const ChipOptics& one : chip.subspan(1)) jittered_.push_back(layers_for_fields(one));
}

/// The chip's layers with the first one widened: Re(W a) = Re W Re a - Im W Im a.
std::vector<RealLayer> ServerChip::layers_for_fields(const ChipOptics& chip) const {
  std::vector<RealLayer> layers = chip.layers;
  RealLayer& first = layers.front();
  if (effects_.mode == CombinerMode::coherent && pedestal_ != 0) {
    first.bias -= pedestal_ * chip.first_nominal.rowwise().sum();
  }
  Eigen::MatrixXd wide(first.weight.rows(), 2 * first.weight.cols());
  wide << first.weight, -chip.first_quadrature;
  first.weight = std::move(wide);
  return layers;
}

Eigen::MatrixXd ServerChip::fields(std::span<const std::uint32_t> values,
                                   const Eigen::MatrixXcd& turns) const {
  Eigen::MatrixXd fields = combined_fields(
      format_, weights_, {.values = values, .amplitudes = amplitudes_, .turns = turns});
  if (effects_.mode == CombinerMode::incoherent && pedestal_ != 0) {
    fields.topRows(weights_.rows()).array() -= pedestal_;
  }
  return fields;
}

Eigen::MatrixXd ServerChip::quiet_outputs(std::span<const std::uint32_t> values) const {
  return backend_.evaluate_codes(layers_, fields(values, {}));
}

Eigen::MatrixXcd ServerChip::laser_turns(Eigen::Index elements, std::uint64_t first_element) const {
  if (effects_.noise.laser_phase_sigma_rad == 0) return {};
  Eigen::MatrixXcd turns(weights_.cols(), elements);
  for (Eigen::Index element = 0; element < elements; ++element) {
    for (Eigen::Index server = 0; server < turns.rows(); ++server) {
      turns(server, element) = std::polar(
          1.0, laser_phase_rad(effects_.noise, streams_, static_cast<std::uint16_t>(server),
                               first_element + static_cast<std::uint64_t>(element)));
    }
  }
  return turns;
}

/// Symbols go through the realizations of the jitter in turn.
Eigen::MatrixXd ServerChip::outputs(std::span<const std::uint32_t> values,
                                    std::uint64_t first_element) const {
  const auto elements = static_cast<Eigen::Index>(values.size()) / weights_.cols();
  const Eigen::MatrixXd signals = fields(values, laser_turns(elements, first_element));
  const bool quiet = effects_.noise.intensity_sigma == 0 && effects_.noise.amplifier_sigma == 0;
  if (quiet && jittered_.empty()) return backend_.evaluate_codes(layers_, signals);
  const auto realizations = static_cast<Eigen::Index>(std::max<std::size_t>(1, jittered_.size()));
  Eigen::MatrixXd outputs(layers_.back().weight.rows(), elements);
  for (Eigen::Index start = 0; start < std::min(realizations, elements); ++start) {
    const std::uint64_t first = first_element + static_cast<std::uint64_t>(start);
    const std::vector<RealLayer>& layers =
        jittered_.empty() ? layers_ : jittered_[first % jittered_.size()];
    const auto columns = Eigen::seq(start, elements - 1, realizations);
    const Eigen::MatrixXd own = signals(Eigen::all, columns);
    outputs(Eigen::all, columns) =
        quiet ? backend_.evaluate_codes(layers, own)
              : noisy_chain(layers, own, {first, static_cast<std::uint64_t>(realizations)});
  }
  return outputs;
}

Eigen::MatrixXd ServerChip::noisy_chain(const std::vector<RealLayer>& layers,
                                        Eigen::MatrixXd signals,
                                        const ElementNumbers& numbers) const {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const RealLayer& layer = layers[i];
    const RealLayer detector{.weight = layer.weight,
                             .bias = Eigen::VectorXd::Zero(layer.bias.size()),
                             .activation = Activation::identity};
    signals = backend_.evaluate_codes({&detector, 1}, signals);
    add_noise(i, numbers, signals);
    signals.colwise() += layer.bias;
    signals = signals.unaryExpr([&](double value) { return activated(layer, value); });
  }
  return signals;
}

void ServerChip::add_noise(std::size_t layer, const ElementNumbers& numbers,
                           Eigen::MatrixXd& detected) const {
  constexpr Eigen::Index per_block = 4;
  const bool last = layer + 1 == layers_.size();
  const double amplifier = last ? 0 : gains_[layer] * effects_.noise.amplifier_sigma;
  for (Eigen::Index column = 0; column < detected.cols(); ++column) {
    const std::uint64_t element = numbers.at(column);
    detected.col(column) *= intensity_factor(effects_.noise, streams_, layer, element);
    if (amplifier == 0) continue;
    for (Eigen::Index row = 0; row < detected.rows(); row += per_block) {
      const UnitNormals deviates =
          amplifier_deviates(streams_, layer, static_cast<std::size_t>(row / per_block), element);
      for (Eigen::Index k = 0; k < std::min(per_block, detected.rows() - row); ++k) {
        detected(row + k, column) += amplifier * deviates.value[k];
      }
    }
  }
}

std::vector<std::int64_t> ServerChip::decode(std::span<const std::uint32_t> values,
                                             std::uint64_t first_element) const {
  return in_batches<std::vector<std::int64_t>>(
      format_.servers, values, [&](std::span<const std::uint32_t> part, std::uint64_t first) {
        return receiver_.decode(outputs(part, first_element + first), first_element + first);
      });
}

Decoded ServerChip::decisions(std::span<const std::uint32_t> values,
                              std::uint64_t first_element) const {
  return in_batches<Decoded>(format_.servers, values,
                             [&](std::span<const std::uint32_t> part, std::uint64_t first) {
                               return receiver_.decisions(outputs(part, first_element + first));
                             });
}

}  // namespace optinc
