// SPDX-License-Identifier: Apache-2.0
#include "noise/static_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "devices/decibel.hpp"

namespace optinc {

bool StaticImperfections::none() const {
  const bool random = phase_fabrication_sigma_rad != 0 || coupler_sigma_rad != 0 ||
                      loss.mzi_sigma_db != 0 || drift.on() || phase_jitter_sigma_rad != 0;
  return !random && loss.lossless() && phase_dac_bits == 0 && coupler_mean_rad == 0 && !thermal &&
         !optical_crosstalk_db && detuning.effective_nm() == 0;
}

StaticImperfections when_calibrated(StaticImperfections imperfections) {
  imperfections.drift = {};
  imperfections.phase_jitter_sigma_rad = 0;
  return imperfections;
}

void apply_static_errors(const StaticImperfections& imperfections, const UnitNormals& normals,
                         MziState<double>& mzi_state) {
  add_phase_errors(imperfections.phase_fabrication_sigma_rad, normals, mzi_state);
  mzi_state.alpha_rad +=
      imperfections.coupler_mean_rad + imperfections.coupler_sigma_rad * normals.value[2];
  mzi_state.beta_rad +=
      imperfections.coupler_mean_rad + imperfections.coupler_sigma_rad * normals.value[3];
}

void add_phase_errors(double sigma_rad, const UnitNormals& normals, MziState<double>& mzi_state) {
  mzi_state.theta_rad += sigma_rad * normals.value[0];
  mzi_state.phi_rad += sigma_rad * normals.value[1];
}

double third_coupler_error_rad(const StaticImperfections& imperfections,
                               const UnitNormals& normals) {
  return imperfections.coupler_mean_rad + imperfections.coupler_sigma_rad * normals.value[0];
}

double output_screen_error_rad(const StaticImperfections& imperfections, double sigma_rad,
                               const UnitNormals& normals) {
  return imperfections.phase_on_output_screen ? sigma_rad * normals.value[0] : 0;
}

double driver_phase_rad(double phase_rad, int dac_bits) {
  const double steps = std::ldexp(1.0, dac_bits);
  const double step_rad = 2 * std::numbers::pi / steps;
  const double step = std::fmod(std::round(phase_rad / step_rad), steps);
  return step_rad * (step < 0 ? step + steps : step);
}

double amplitude_transmission(double loss_db) { return amplitude_ratio(-loss_db); }

double optical_crosstalk_angle_rad(double crosstalk_db) {
  return std::asin(amplitude_ratio(crosstalk_db));
}

double block_loss_db(const LossParameters& loss, double normal) {
  return std::max(0.0, loss.mzi_db + loss.mzi_sigma_db * normal) + loss.crossing_db;
}

double detuned_phase_factor(const Detuning& detuning) {
  return detuning.center_wavelength_nm / (detuning.center_wavelength_nm + detuning.effective_nm());
}

}  // namespace optinc
