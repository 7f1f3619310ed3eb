//! Generates the enums of loss models and their processes from the list in `mod.rs`.

/// Lists the loss models: their files and types. The caller imports what the code below names.
macro_rules! loss_models {
    ($($file:ident::$Type:ident),* $(,)?) => {
        $(pub use $file::$Type;)*

        /// Model of a loss process.
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

        /// The running process of a model.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum ModelProcess {
            $($Type(<$Type as Model>::Process),)*
            Preset($crate::loss::bursts::BurstProcess),
        }

        impl ModelProcess {
            /// Draws the initial state.
            pub fn start(&mut self, random: &mut Stream) {
                match self {
                    $(Self::$Type(process) => Process::start(process, random),)*
                    Self::Preset(process) => Process::start(process, random),
                }
            }

            /// Returns true if the next packet, which leaves the transmitter at `at`, is lost.
            #[inline]
            pub fn loses(&mut self, at: Time, random: &mut Stream) -> bool {
                match self {
                    $(Self::$Type(process) => Process::loses(process, at, random),)*
                    Self::Preset(process) => Process::loses(process, at, random),
                }
            }
        }

        impl LossModel {
            /// Names of all models, without presets.
            const MODELS: &'static [&'static str] = &[$(<$Type as Model>::NAME),*];

            /// Returns every value of `model` that a scenario may use: models, then presets.
            pub(crate) fn names() -> Vec<&'static str> {
                let presets = $crate::loss::preset::loss_presets().iter().map(|preset| preset.name);
                Self::MODELS.iter().copied().chain(presets).collect()
            }

            /// Returns the keys of all models. A key that several models share occurs once for
            /// each.
            pub(crate) fn all_fields() -> impl Iterator<Item = &'static Field> {
                [$(<$Type as Model>::FIELDS),*].into_iter().flatten()
            }

            /// Creates the model that `fields` describes.
            ///
            /// # Errors
            ///
            /// If a key is missing or does not belong to the model.
            pub(crate) fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
                match fields.name() {
                    $(<$Type as Model>::NAME => {
                        <$Type as Model>::from_fields(fields).map(Self::$Type)
                    })*
                    name => {
                        fields.expect(&[], &[])?;
                        let preset = $crate::loss::preset::LossPreset::find(name).map(Self::Preset);
                        preset.ok_or_else(|| {
                            let allowed = Self::names().join(", ");
                            ConfigError::refused(name, "is not a loss model", allowed)
                        })
                    }
                }
            }

            /// Returns the keys that describe the model.
            pub(crate) fn to_fields(&self) -> Fields {
                match self {
                    $(Self::$Type(model) => Model::to_fields(model),)*
                    Self::Preset(preset) => Fields::new(preset.name),
                }
            }

            pub(crate) fn check(&self) -> Result<(), ConfigError> {
                match self {
                    $(Self::$Type(model) => Model::check(model),)*
                    Self::Preset(_) => Ok(()),
                }
            }

            /// Returns true if two runs with different seeds may lose different packets.
            pub fn is_random(&self) -> bool {
                match self {
                    $(Self::$Type(model) => Model::is_random(model),)*
                    Self::Preset(_) => true,
                }
            }

            pub(crate) fn load(&self, files: &dyn ReadFiles) -> Result<ModelProcess, LinkError> {
                Ok(match self {
                    $(Self::$Type(model) => ModelProcess::$Type(Model::load(model, files)?),)*
                    Self::Preset(preset) => ModelProcess::Preset(preset.process()),
                })
            }
        }
    };
}
pub(super) use loss_models;
