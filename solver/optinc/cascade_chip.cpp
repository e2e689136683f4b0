// SPDX-License-Identifier: Apache-2.0
#include "solver/optinc/cascade_chip.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "solver/onn/accuracy.hpp"
#include "solver/optinc/batches.hpp"

namespace optinc {

namespace {

std::size_t unsigned_of(int count) { return static_cast<std::size_t>(count); }

/// What unit `unit` of level 1 takes of what all servers send.
std::vector<std::uint32_t> values_of_unit(const CascadeFormat& format, std::size_t unit,
                                          std::span<const std::uint32_t> values) {
  const std::size_t all = unsigned_of(format.total.servers);
  const std::size_t own = unsigned_of(format.level1.servers);
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
  return std::visit([&](auto& chip) { return chip.decode(values, first_element); }, unit);
}

/// The values of all servers for tuples `first` to `first + count - 1` of a sample.
std::vector<std::uint32_t> sampled_values(const CascadeFormat& format, std::uint64_t seed,
                                          std::uint64_t first, std::size_t count) {
  const std::size_t all = unsigned_of(format.total.servers);
  const std::size_t own = unsigned_of(format.level1.servers);
  std::vector<std::uint32_t> values(count * all);
  for (std::size_t unit = 0; unit < unsigned_of(format.units()); ++unit) {
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
                   ReceiverOptions receiver, const CodeSet& codes)
    : CodeChip(format, chip, backend, std::move(receiver), codes,
               backend.evaluate_codes(chip.layers, codes.inputs)) {}

CodeChip::CodeChip(const CodeFormat& format, const ChipOptics& chip, const Backend& backend,
                   ReceiverOptions receiver, const CodeSet& codes, const Eigen::MatrixXd& outputs)
    : format_(format),
      backend_(backend),
      layers_(chip.layers),
      receiver_(std::move(receiver), outputs, codes.targets) {
  keep(codes.codes, outputs);
}

std::vector<std::int64_t> CodeChip::decode(std::span<const std::uint32_t> values,
                                           std::uint64_t first_element) {
  return receiver_.decode(outputs(values), first_element);
}

Decoded CodeChip::decisions(std::span<const std::uint32_t> values,
                            std::uint64_t /*first_element*/) {
  return receiver_.decisions(outputs(values));
}

Eigen::MatrixXd CodeChip::outputs(std::span<const std::uint32_t> values) {
  const std::size_t servers = unsigned_of(format_.servers);
  std::vector<CodeKey> codes;
  codes.reserve(values.size() / servers);
  for (std::size_t first = 0; first < values.size(); first += servers) {
    codes.push_back(code_of(format_, values.data() + first));
  }
  add_missing(codes);
  const std::size_t digits = unsigned_of(format_.output_digits());
  Eigen::MatrixXd outputs(format_.output_digits(), static_cast<Eigen::Index>(codes.size()));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::copy_n(outputs_.data() + place_.at(codes[i]) * digits, digits,
                outputs.data() + i * digits);
  }
  return outputs;
}

void CodeChip::add_missing(const std::vector<CodeKey>& codes) {
  std::vector<CodeKey> missing;
  std::copy_if(codes.begin(), codes.end(), std::back_inserter(missing),
               [&](CodeKey code) { return place_.count(code) == 0; });
  if (missing.empty()) return;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  keep(missing, backend_.evaluate_codes(layers_, network_inputs(format_, missing)));
}

void CodeChip::keep(const std::vector<CodeKey>& codes, const Eigen::MatrixXd& outputs) {
  const std::size_t kept = place_.size();
  place_.reserve(kept + codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) place_.emplace(codes[i], kept + i);
  outputs_.insert(outputs_.end(), outputs.data(), outputs.data() + outputs.size());
}

CascadeChip::CascadeChip(const CascadeFormat& format, std::vector<UnitChip> units)
    : format_(format), units_(std::move(units)) {}

std::vector<std::int64_t> CascadeChip::decode(std::span<const std::uint32_t> values,
                                              std::uint64_t first_element) {
  return in_batches<std::vector<std::int64_t>>(
      format_.total.servers, values, [&](std::span<const std::uint32_t> part, std::uint64_t first) {
        return decode_unit(units_.back(), passed_on(part, first_element + first),
                           first_element + first);
      });
}

Decoded CascadeChip::decisions(std::span<const std::uint32_t> values, std::uint64_t first_element) {
  return in_batches<Decoded>(
      format_.total.servers, values, [&](std::span<const std::uint32_t> part, std::uint64_t first) {
        const std::vector<std::uint32_t> passed = passed_on(part, first_element + first);
        return std::visit([&](auto& chip) { return chip.decisions(passed, first_element + first); },
                          units_.back());
      });
}

std::vector<std::uint32_t> CascadeChip::passed_on(std::span<const std::uint32_t> values,
                                                  std::uint64_t first_element) {
  const std::size_t units = units_.size() - 1;
  const std::size_t elements = values.size() / unsigned_of(format_.total.servers);
  std::vector<std::uint32_t> passed(elements * units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::vector<std::int64_t> averages =
        decode_unit(units_[unit], values_of_unit(format_, unit, values), first_element);
    for (std::size_t i = 0; i < elements; ++i) {
      passed[i * units + unit] = static_cast<std::uint32_t>(averages[i]);
    }
  }
  return passed;
}

double uniform_error_rate(CascadeChip& chip, const CascadeFormat& format,
                          const CascadeSample& sample) {
  const std::size_t servers = unsigned_of(format.total.servers);
  double wrong = 0;
  for (std::uint64_t first = 0; first < sample.tuples; first += batch_elements) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(batch_elements, sample.tuples - first));
    const std::vector<std::uint32_t> values = sampled_values(format, sample.seed, first, count);
    std::vector<CodeKey> codes;
    for (std::size_t i = 0; i < count; ++i) {
      codes.push_back(code_of(format.total, values.data() + i * servers));
    }
    const std::vector<double> shares =
        wrong_probabilities(chip.decisions(values, first), target_values(format.total, codes));
    wrong = std::accumulate(shares.begin(), shares.end(), wrong);
  }
  return wrong / static_cast<double>(sample.tuples);
}

}  // namespace optinc
