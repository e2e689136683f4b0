// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "devices/photodiode.hpp"
#include "solver/cost/unit_structure.hpp"

namespace optinc {

/// Source, modulator and receiver.
struct LinkHardware {
  double laser_dbm = 10;    ///< at every modulator
  double local_dbm = 10;    ///< local oscillator of every homodyne detector
  double rin_db_hz = -150;  ///< relative to the detected power
  double extinction_ratio_db = 4.5;
  double rlm = 0.95;
  double responsivity_a_w = 0.8;
  double dark_na = 10;
  double thermal_pa_rthz = 16.9;
  double bandwidth_ghz = 26.6;
  int adc_bits = 8;         ///< of the slicer; steps of 2^-bits of the highest level
  double required_ser = 0;  ///< 0: see required_symbol_error_rate

  Photodiode photodiode() const;
  double rin_per_hz() const;
};

/// Largest symbol error rate of values of `bits` bits for which the errors of their PAM4 digits
/// stay below rounding: SER (4^bits - 1) / 15 = 1/12 LSB^2.
double required_symbol_error_rate(int bits);

/// Half of a level spacing over the noise at which PAM4 has that symbol error rate, spacings and
/// noise alike: SER = 3/2 Q(x). Throws ConfigError outside (0, 3/4).
double required_distance(double symbol_error_rate);

/// Power after one part of a link.
struct LinkStage {
  std::string name;
  double change_db{};
  double power_dbm{};
};

/// Light through one layer to its homodyne detectors. The signal is that of a full-scale input
/// whose light all reaches one output.
struct LayerLink {
  std::vector<LinkStage> stages;
  CurrentNoise noise;
  double current_a{};  ///< of the full scale
  double snr_db{};     ///< 20 log10(full scale / noise)
  /// Optical power above what a full scale of three digits needs; NaN: none suffices.
  double margin_db{};
};

/// The link through layer `index`. The first one carries the sum of `servers` fields in phase: the
/// combiner loses nothing of their total power but its excess.
LayerLink layer_link(const UnitStructure& unit, std::size_t index, int servers,
                     double symbol_error_rate, const LossValues& loss, const LinkHardware& link);

/// The decision between two levels.
struct SlicerGap {
  double spacing_a{};
  double below{};       ///< threshold minus lower level, in noise of the lower level
  double above{};       ///< upper level minus threshold, in noise of the upper level
  double error_rate{};  ///< share of all symbols decided wrongly here
};

/// PAM4 detection with the thresholds that an affine calibration on equally frequent levels gives:
/// half way between its digits.
struct SlicerBudget {
  std::array<SlicerGap, 3> gaps;
  double top_current_a{};       ///< of the highest level
  CurrentNoise noise;           ///< there
  double converter_variance{};  ///< A^2
  double symbol_error_rate{};
};
SlicerBudget slicer_budget(double top_level_dbm, const LinkHardware& link);

/// From the modulator of an output to the slicer of a server.
struct OutputLink {
  std::vector<LinkStage> stages;  ///< power of the highest level
  SlicerBudget slicer;
  double margin_db{};  ///< optical power above what `symbol_error_rate` needs; NaN: none suffices
};
OutputLink output_link(int servers, double symbol_error_rate, const LossValues& loss,
                       const LinkHardware& link);

}  // namespace optinc
