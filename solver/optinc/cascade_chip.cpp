// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/cascade_chip.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "solver/onn/accuracy.hpp"

namespace optinc {

namespace {

constexpr std::size_t batch_elements = 16384;

std::size_t size_of(int count) { return static_cast<std::size_t>(count); }

/// What unit `unit` of level 1 takes of what all servers send.
std::vector<std::uint32_t> values_of_unit(const CascadeFormat& format, std::size_t unit,
                                          std::span<const std::uint32_t> values) {
  const std::size_t all = size_of(format.total.servers);
  const std::size_t own = size_of(format.level1.servers);
  std::vector<std::uint32_t> taken;
  taken.reserve(values.size() / all * own);
  for (std::size_t first = unit * own; first < values.size(); first += all) {
    taken.insert(taken.end(), values.begin() + static_cast<std::ptrdiff_t>(first),
                 values.begin() + static_cast<std::ptrdiff_t>(first + own));
  }
  return taken;
}

std::vector<std::int64_t> decode_unit(UnitChip& unit, std::span<const std::uint32_t> values,
                                      std::uint64_t first_element) {
  if (const auto* by_server = std::get_if<ServerChip>(&unit)) {
    return by_server->decode(values, first_element);
  }
  return std::get<CodeChip>(unit).decode(values);
}

/// The values of all servers for tuples `first` to `first + count - 1` of a sample.
std::vector<std::uint32_t> sampled_values(const CascadeFormat& format, std::uint64_t seed,
                                          std::uint64_t first, std::size_t count) {
  const std::size_t all = size_of(format.total.servers);
  const std::size_t own = size_of(format.level1.servers);
  std::vector<std::uint32_t> values(count * all);
  for (std::size_t unit = 0; unit < size_of(format.units()); ++unit) {
    const StreamAddress stream{
        .seed = seed, .mesh_id = static_cast<std::uint16_t>(unit), .draw = DrawId::code_sample};
    std::vector<CodeKey> codes;
    for (std::size_t i = 0; i < count; ++i) {
      codes.push_back(random_code(format.level1, stream, first + i));
    }
    const std::vector<std::uint32_t> sent = training_values(format.level1, codes);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(i * own), own,
                  values.begin() + static_cast<std::ptrdiff_t>(i * all + unit * own));
    }
  }
  return values;
}

}  // namespace

CodeSet make_code_set(const CodeFormat& format, std::vector<CodeKey> codes) {
  Eigen::MatrixXd inputs = network_inputs(format, codes);
  std::vector<std::int64_t> targets = target_values(format, codes);
  return {.codes = std::move(codes), .inputs = std::move(inputs), .targets = std::move(targets)};
}

CodeChip::CodeChip(const CodeFormat& format, const ChipOptics& chip, const Backend& backend,
                   Calibration calibration, const CodeSet& codes)
    : format_(format), backend_(backend), layers_(chip.layers) {
  const Eigen::MatrixXd outputs = backend_.evaluate_codes(layers_, codes.inputs);
  calibration_ = fit_calibration(calibration, outputs, codes.targets);
  keep(codes.codes, outputs);
}

std::vector<std::int64_t> CodeChip::decode(std::span<const std::uint32_t> values) {
  const std::size_t servers = size_of(format_.servers);
  std::vector<CodeKey> codes;
  codes.reserve(values.size() / servers);
  for (std::size_t first = 0; first < values.size(); first += servers) {
    codes.push_back(code_of(format_, values.data() + first));
  }
  add_missing(codes);
  std::vector<std::int64_t> decoded;
  decoded.reserve(codes.size());
  for (const CodeKey code : codes) decoded.push_back(decoded_.at(code));
  return decoded;
}

void CodeChip::add_missing(const std::vector<CodeKey>& codes) {
  std::vector<CodeKey> missing;
  std::copy_if(codes.begin(), codes.end(), std::back_inserter(missing),
               [&](CodeKey code) { return decoded_.count(code) == 0; });
  if (missing.empty()) return;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  keep(missing, backend_.evaluate_codes(layers_, network_inputs(format_, missing)));
}

void CodeChip::keep(const std::vector<CodeKey>& codes, const Eigen::MatrixXd& outputs) {
  const std::vector<std::int64_t> integers = optinc::decode(outputs, calibration_);
  decoded_.reserve(decoded_.size() + codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) decoded_.emplace(codes[i], integers[i]);
}

CascadeChip::CascadeChip(const CascadeFormat& format, std::vector<UnitChip> units)
    : format_(format), units_(std::move(units)) {}

std::vector<std::int64_t> CascadeChip::decode(std::span<const std::uint32_t> values,
                                              std::uint64_t first_element) {
  const std::size_t batch = batch_elements * size_of(format_.total.servers);
  std::vector<std::int64_t> decoded;
  decoded.reserve(values.size() / size_of(format_.total.servers));
  for (std::size_t first = 0; first < values.size(); first += batch) {
    const std::vector<std::int64_t> integers =
        decode_batch(values.subspan(first, std::min(batch, values.size() - first)),
                     first_element + first / size_of(format_.total.servers));
    decoded.insert(decoded.end(), integers.begin(), integers.end());
  }
  return decoded;
}

std::vector<std::int64_t> CascadeChip::decode_batch(std::span<const std::uint32_t> values,
                                                    std::uint64_t first_element) {
  const std::size_t units = units_.size() - 1;
  const std::size_t elements = values.size() / size_of(format_.total.servers);
  std::vector<std::uint32_t> passed(elements * units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::vector<std::int64_t> averages =
        decode_unit(units_[unit], values_of_unit(format_, unit, values), first_element);
    for (std::size_t i = 0; i < elements; ++i) {
      passed[i * units + unit] = static_cast<std::uint32_t>(averages[i]);
    }
  }
  return decode_unit(units_.back(), passed, first_element);
}

double uniform_error_rate(CascadeChip& chip, const CascadeFormat& format,
                          const CascadeSample& sample) {
  const std::size_t servers = size_of(format.total.servers);
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < sample.tuples; first += batch_elements) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(batch_elements, sample.tuples - first));
    const std::vector<std::uint32_t> values = sampled_values(format, sample.seed, first, count);
    const std::vector<std::int64_t> decoded = chip.decode(values, first);
    for (std::size_t i = 0; i < count; ++i) {
      const CodeKey code = code_of(format.total, values.data() + i * servers);
      wrong +=
          decoded[i] != round_average(format.total, scaled_average(format.total, code)) ? 1 : 0;
    }
  }
  return static_cast<double>(wrong) / static_cast<double>(sample.tuples);
}

}  // namespace optinc
