//! Makes the enums of loss models and their processes out of the list in `mod.rs`.

/// Lists the loss models: their files and types.
macro_rules! loss_models {
    ($($file:ident::$Type:ident),* $(,)?) => {
        $(pub use $file::$Type;)*

        /// What a loss process does to each packet.
        #[derive(Debug, Clone, PartialEq)]
        pub enum LossModel {
            $(
                #[doc = concat!("See [`", stringify!($Type), "`].")]
                $Type($Type),
            )*
            /// A measured process.
            Preset(&'static $crate::loss::preset::LossPreset),
        }

        $(impl From<$Type> for LossModel {
            fn from(model: $Type) -> Self {
                Self::$Type(model)
            }
        })*

        /// The process of a model.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum ModelProcess {
            $($Type(<$Type as $crate::loss::model::Model>::Process),)*
            Preset($crate::loss::bursts::BurstProcess),
        }

        impl ModelProcess {
            /// Draws the initial state.
            pub fn start(&mut self, random: &mut $crate::random::Stream) {
                match self {
                    $(Self::$Type(process) => $crate::loss::model::Process::start(process, random),)*
                    Self::Preset(process) => $crate::loss::model::Process::start(process, random),
                }
            }

            /// Whether the next packet is lost, which leaves the transmitter at `at`.
            #[inline]
            pub fn loses(&mut self, at: bentpipe_units::Time, random: &mut $crate::random::Stream) -> bool {
                match self {
                    $(Self::$Type(process) => $crate::loss::model::Process::loses(process, at, random),)*
                    Self::Preset(process) => $crate::loss::model::Process::loses(process, at, random),
                }
            }
        }

        impl LossModel {
            /// The names of all models, without presets.
            const MODELS: &'static [&'static str] = &[$(<$Type as $crate::loss::model::Model>::NAME),*];

            /// Every value of `model` that a scenario may write: models, then presets.
            pub(crate) fn names() -> Vec<&'static str> {
                let presets = $crate::loss::preset::loss_presets().iter().map(|preset| preset.name);
                Self::MODELS.iter().copied().chain(presets).collect()
            }

            /// The keys of all models; a key that several models share occurs once for each.
            pub(crate) fn all_fields() -> impl Iterator<Item = &'static $crate::loss::fields::Field> {
                [$(<$Type as $crate::loss::model::Model>::FIELDS),*].into_iter().flatten()
            }

            /// The model that `fields` describes.
            ///
            /// # Errors
            /// A missing key, or one that does not belong to the model.
            pub(crate) fn from_fields(fields: &$crate::loss::fields::Fields) -> Result<Self, $crate::ConfigError> {
                match fields.model() {
                    $(<$Type as $crate::loss::model::Model>::NAME => <$Type as $crate::loss::model::Model>::from_fields(fields).map(Self::$Type),)*
                    name => {
                        fields.expect(&[], &[])?;
                        let preset = $crate::loss::preset::LossPreset::find(name).map(Self::Preset);
                        preset.ok_or_else(|| $crate::ConfigError::refused(name, "is no loss \
                            model", Self::names().join(", ")))
                    }
                }
            }

            /// The keys that describe the model.
            pub(crate) fn to_fields(&self) -> $crate::loss::fields::Fields {
                match self {
                    $(Self::$Type(model) => $crate::loss::model::Model::to_fields(model),)*
                    Self::Preset(preset) => $crate::loss::fields::Fields::new(preset.name),
                }
            }

            pub(crate) fn check(&self) -> Result<(), $crate::ConfigError> {
                match self {
                    $(Self::$Type(model) => $crate::loss::model::Model::check(model),)*
                    Self::Preset(_) => Ok(()),
                }
            }

            /// Whether two runs with different seeds may lose different packets.
            pub fn is_random(&self) -> bool {
                match self {
                    $(Self::$Type(model) => $crate::loss::model::Model::is_random(model),)*
                    Self::Preset(_) => true,
                }
            }

            pub(crate) fn load(&self, base_dir: &std::path::Path) -> Result<ModelProcess, $crate::LinkError> {
                Ok(match self {
                    $(Self::$Type(model) => ModelProcess::$Type($crate::loss::model::Model::load(model, base_dir)?),)*
                    Self::Preset(preset) => ModelProcess::Preset(preset.process()),
                })
            }
        }
    };
}
pub(super) use loss_models;
