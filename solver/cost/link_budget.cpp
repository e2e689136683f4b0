// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/link_budget.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>
#include <boost/math/special_functions/erf.hpp>

#include "devices/decibel.hpp"
#include "devices/modulator.hpp"
#include "solver/error.hpp"
#include "solver/optinc/decision.hpp"

namespace optinc {

namespace {

constexpr double milli = 1e-3;
constexpr int digit_levels = 3;

double watts(double dbm) { return milli * power_ratio(dbm); }

/// Stages of a link, each on top of the one before.
class StageList {
 public:
  explicit StageList(double laser_dbm) { stages_.push_back({"laser", 0, laser_dbm}); }
  void change(const std::string& name, double change_db) {
    // Adding zero turns -0 into 0.
    stages_.push_back({name, change_db + 0.0, power_dbm() + change_db});
  }
  double power_dbm() const { return stages_.back().power_dbm; }
  std::vector<LinkStage> take() { return std::move(stages_); }

 private:
  std::vector<LinkStage> stages_;
};

StageList layer_stages(const UnitStructure& unit, std::size_t index, int servers,
                       const LossValues& loss, const LinkHardware& link) {
  const LayerLoss layer = layer_loss(unit.layers[index], loss);
  StageList stages(link.laser_dbm);
  stages.change("modulator", -loss.modulator_db);
  if (index == 0) {
    stages.change("transmitter facet", -loss.facet_db);
    stages.change("combiner", 10 * std::log10(servers) - loss.combiner_db);
  }
  stages.change("facets", -layer.facet_db);
  stages.change("split over block rows", -layer.split_db);
  stages.change("MZIs", -layer.mzi_db);
  stages.change("waveguides", -layer.waveguide_db);
  stages.change("sum of block columns", -layer.sum_db);
  return stages;
}

/// A balanced pair of photodiodes with its local oscillator.
struct HomodyneDetector {
  Photodiode diode;
  double local_w{};
  double rin_per_hz{};

  double current_a(double signal_w) const { return homodyne_current_a(diode, signal_w, local_w); }
  CurrentNoise noise(double signal_w) const {
    return homodyne_noise(diode, signal_w, local_w, rin_per_hz);
  }

  /// Power whose current is `ratio` times its noise; NaN where none is. Square current and variance
  /// grow linearly with the power.
  double required_power_w(double ratio) const {
    constexpr double probe_w = 1e-3;
    const double dark_variance = noise(0).total();
    const double noise_slope = (noise(probe_w).total() - dark_variance) / probe_w;
    const double signal_slope = current_a(probe_w) * current_a(probe_w) / probe_w;
    const double gain = signal_slope - ratio * ratio * noise_slope;
    return gain > 0 ? ratio * ratio * dark_variance / gain
                    : std::numeric_limits<double>::quiet_NaN();
  }
};

/// Currents of the levels and their noise.
struct DetectedLevels {
  std::array<double, 4> current_a{};
  std::array<double, 4> sigma_a{};
};

double converter_variance(double full_scale_a, int bits) {
  const double step_a = full_scale_a * std::exp2(-bits);
  return step_a * step_a / 12;
}

DetectedLevels detect(double top_level_dbm, const LinkHardware& link) {
  const Photodiode diode = link.photodiode();
  const Pam4Levels<double> powers =
      pam4_levels(watts(top_level_dbm), power_ratio(link.extinction_ratio_db), link.rlm);
  const double converter =
      converter_variance(diode.responsivity_a_w * powers.level[3], link.adc_bits);
  DetectedLevels levels;
  for (std::size_t i = 0; i < levels.current_a.size(); ++i) {
    levels.current_a[i] = diode.responsivity_a_w * powers.level[i];
    const CurrentNoise noise = photocurrent_noise(diode, powers.level[i], link.rin_per_hz());
    levels.sigma_a[i] = std::sqrt(noise.total() + converter);
  }
  return levels;
}

/// Least squares of current = middle + slope (digit - 3/2) over the four levels.
struct DigitScale {
  double middle_a{};
  double slope_a{};
};

DigitScale fit_scale(const std::array<double, 4>& current_a) {
  constexpr std::array<double, 4> centred = {-1.5, -0.5, 0.5, 1.5};
  constexpr double square_sum = 5;
  DigitScale scale;
  for (std::size_t i = 0; i < centred.size(); ++i) {
    scale.middle_a += current_a[i] / 4;
    scale.slope_a += current_a[i] * centred[i] / square_sum;
  }
  return scale;
}

double symbol_error_rate_at(double top_level_dbm, const LinkHardware& link) {
  return slicer_budget(top_level_dbm, link).symbol_error_rate;
}

/// How far the power may fall until the error rate is `allowed`; NaN where no power suffices.
double power_margin_db(double top_level_dbm, double allowed, const LinkHardware& link) {
  double low_dbm = -100;
  double high_dbm = 100;
  if (symbol_error_rate_at(high_dbm, link) > allowed) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double resolution_db = 1e-9;
  while (high_dbm - low_dbm > resolution_db) {
    const double middle_dbm = (low_dbm + high_dbm) / 2;
    (symbol_error_rate_at(middle_dbm, link) > allowed ? low_dbm : high_dbm) = middle_dbm;
  }
  return top_level_dbm - high_dbm;
}

}  // namespace

Photodiode LinkHardware::photodiode() const {
  return {.responsivity_a_w = responsivity_a_w,
          .dark_current_a = dark_na * 1e-9,
          .thermal_a_rthz = thermal_pa_rthz * 1e-12,
          .bandwidth_hz = bandwidth_ghz * 1e9};
}

double LinkHardware::rin_per_hz() const { return power_ratio(rin_db_hz); }

double required_symbol_error_rate(int bits) { return 15.0 / 12 / (std::exp2(2 * bits) - 1); }

double required_distance(double symbol_error_rate) {
  if (!(symbol_error_rate > 0 && symbol_error_rate < 0.75)) {
    throw ConfigError(fmt::format(
        "symbol error rate {} (must lie between 0 and 0.75, that of a guess)", symbol_error_rate));
  }
  return std::sqrt(2.0) * boost::math::erfc_inv(2 * symbol_error_rate / 1.5);
}

LayerLink layer_link(const UnitStructure& unit, std::size_t index, int servers,
                     double symbol_error_rate, const LossValues& loss, const LinkHardware& link) {
  StageList stages = layer_stages(unit, index, servers, loss, link);
  const HomodyneDetector detector{.diode = link.photodiode(),
                                  .local_w = watts(link.local_dbm),
                                  .rin_per_hz = link.rin_per_hz()};
  const double signal_w = watts(stages.power_dbm());
  LayerLink result;
  result.current_a = detector.current_a(signal_w);
  result.noise = detector.noise(signal_w);
  result.snr_db = 20 * std::log10(result.current_a / std::sqrt(result.noise.total()));
  // Three digits are three spacings, each two distances.
  const double needed = 2 * digit_levels * required_distance(symbol_error_rate);
  result.margin_db = 10 * std::log10(signal_w / detector.required_power_w(needed));
  result.stages = stages.take();
  return result;
}

SlicerBudget slicer_budget(double top_level_dbm, const LinkHardware& link) {
  const DetectedLevels levels = detect(top_level_dbm, link);
  const DigitScale scale = fit_scale(levels.current_a);
  SlicerBudget budget;
  for (std::size_t i = 0; i < budget.gaps.size(); ++i) {
    const double threshold_a = scale.middle_a + (static_cast<double>(i) - 1) * scale.slope_a;
    SlicerGap& gap = budget.gaps[i];
    gap.spacing_a = levels.current_a[i + 1] - levels.current_a[i];
    gap.below = (threshold_a - levels.current_a[i]) / levels.sigma_a[i];
    gap.above = (levels.current_a[i + 1] - threshold_a) / levels.sigma_a[i + 1];
    gap.error_rate = (upper_tail(gap.below) + upper_tail(gap.above)) / 4;
    budget.symbol_error_rate += gap.error_rate;
  }
  const Photodiode diode = link.photodiode();
  const double top_w = watts(top_level_dbm);
  budget.noise = photocurrent_noise(diode, top_w, link.rin_per_hz());
  budget.top_current_a = levels.current_a.back();
  budget.converter_variance = converter_variance(budget.top_current_a, link.adc_bits);
  return budget;
}

OutputLink output_link(int servers, double symbol_error_rate, const LossValues& loss,
                       const LinkHardware& link) {
  StageList stages(link.laser_dbm);
  stages.change("modulator", -loss.modulator_db);
  stages.change("splitter", -10 * std::log10(servers) - loss.splitter_db);
  stages.change("facets", -2 * loss.facet_db);
  OutputLink result;
  result.slicer = slicer_budget(stages.power_dbm(), link);
  result.margin_db = power_margin_db(stages.power_dbm(), symbol_error_rate, link);
  result.stages = stages.take();
  return result;
}

}  // namespace optinc
