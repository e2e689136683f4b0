// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "devices/layout.hpp"
#include "devices/mzi.hpp"
#include "noise/drift.hpp"
#include "noise/stream.hpp"
#include "noise/thermal_crosstalk.hpp"

namespace optinc {

/// Which modes pay the loss of an MZI.
enum class LossPlacement {
  mzi_only,  ///< the two modes of every MZI
  balanced,  ///< also the modes that pass a column without an MZI
};

/// Insertion losses, all >= 0 dB.
struct LossParameters {
  double mzi_db = 0;               ///< mean loss of an MZI, both modes alike
  double mzi_sigma_db = 0;         ///< Gaussian spread from MZI to MZI, cut at 0 dB
  double crossing_db = 0;          ///< of a waveguide crossing, both modes alike
  double waveguide_db_per_cm = 0;  ///< along every column, MZI or not
  double facet_db = 0;             ///< per passage between fibre or modulator and chip
  LossPlacement placement{};

  /// True when there is no mean loss; the spread may be on.
  bool lossless() const { return block_db() == 0 && waveguide_db_per_cm == 0 && facet_db == 0; }
  /// Mean loss of an MZI with its crossing, dB.
  double block_db() const { return mzi_db + crossing_db; }
};

/// Operation away from the design point. A temperature rise acts as the wavelength detuning that
/// undoes the shift of the waveguides' spectrum.
struct Detuning {
  double wavelength_nm = 0;               ///< source minus design wavelength
  double temperature_k = 0;               ///< chip minus calibration temperature
  double center_wavelength_nm = 1550;     ///< design wavelength
  double spectrum_shift_nm_per_k = 0.07;  ///< silicon ring, APL 121, 261104
  double coupler_rad_per_nm = 0.005;      ///< change of every splitting angle

  /// Source wavelength minus the wavelength that the warm chip would work at, nm.
  double effective_nm() const { return wavelength_nm - spectrum_shift_nm_per_k * temperature_k; }
};

/// Imperfections of the meshes of a chip, the `[imperfections]` section of a configuration: static
/// but for the jitter. Zero (or none) switches an effect off and gives back the ideal device
/// exactly.
struct StaticImperfections {
  double phase_fabrication_sigma_rad = 0;  ///< Gaussian error of every phase
  bool phase_on_output_screen = true;      ///< whether the screen has the phase errors too
  double phase_correlation_um = 0;         ///< length over which that error is correlated
  int phase_dac_bits = 0;                  ///< phases in steps of 2 pi / 2^bits; 0: exact
  PhaseDrift drift = {};
  double phase_jitter_sigma_rad = 0;  ///< Gaussian error of every phase, per symbol
  double coupler_sigma_rad = 0;       ///< Gaussian splitting-angle error of every coupler
  double coupler_mean_rad = 0;        ///< common splitting-angle error (detuning)
  LossParameters loss = {};
  std::optional<ThermalCrosstalk> thermal = {};
  std::optional<double> optical_crosstalk_db = {};  ///< power between guides that run side by side
  Detuning detuning = {};
  MeshLayout layout = {};

  /// True when no effect is on.
  bool none() const;
};

/// What there is of them when a chip is calibrated: no drift yet, and jitter averages out.
StaticImperfections when_calibrated(StaticImperfections imperfections);

/// Adds the static errors of one MZI. `normals` are those of its DrawId::static_mzi block, in the
/// order theta, phi, alpha, beta; the first two replaced by correlated ones where
/// phase_correlation_um asks for it.
void apply_static_errors(const StaticImperfections& imperfections, const UnitNormals& normals,
                         MziState<double>& mzi_state);

/// Adds what a unit deviate of theta and phi, the first two normals, makes of a phase error of that
/// standard deviation.
void add_phase_errors(double sigma_rad, const UnitNormals& normals, MziState<double>& mzi_state);

/// Splitting-angle error of a third coupler, rad. `normals`: its DrawId::third_coupler block.
double third_coupler_error_rad(const StaticImperfections& imperfections,
                               const UnitNormals& normals);

/// Phase error of one output-screen mode from the unit normal of its heater, rad. Args: sigma_rad,
/// of the error.
double output_screen_error_rad(const StaticImperfections& imperfections, double sigma_rad,
                               const UnitNormals& normals);

/// Phase as a driver with `dac_bits` bits sets it: the nearest multiple of 2 pi / 2^bits, in
/// [0, 2 pi).
double driver_phase_rad(double phase_rad, int dac_bits);

/// Amplitude transmission of a loss in dB (power).
double amplitude_transmission(double loss_db);

/// Angle of the coupler that moves the power share 10^(dB/10): sin^2 kappa.
double optical_crosstalk_angle_rad(double crosstalk_db);

/// Loss of one MZI with its crossing, dB. `normal`: first of its DrawId::mzi_loss block.
double block_loss_db(const LossParameters& loss, double normal);

/// Factor on every phase: design wavelength over effective wavelength.
double detuned_phase_factor(const Detuning& detuning);

}  // namespace optinc
