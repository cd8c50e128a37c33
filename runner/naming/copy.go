package naming

// Marks of the Secrets that hold a copy of a state: a backup, or a rescue set of a runner that could not save one.
// They never carry a label of [StateSelector], or a runtime would take them for chunks.
const (
	LabelBackup = "captf.io/backup" // "true"
	LabelRescue = "captf.io/rescue" // "true"
	// LabelCopySuffix is the secret_suffix of the state. Only backups have it.
	LabelCopySuffix = "captf.io/state-suffix"

	AnnotationSerial  = "captf.io/state-serial"
	AnnotationLineage = "captf.io/state-lineage"
	AnnotationDigest  = "captf.io/state-digest" // hex SHA-256 of the state, decompressed
	AnnotationParts   = "captf.io/state-parts"  // the number of Secrets

	// AnnotationEmpty is "true" on the first Secret of a backup that cannot be read, and is known to have no resources.
	AnnotationEmpty = "captf.io/state-empty"

	AnnotationRescuedAt  = "captf.io/rescued-at"   // RFC 3339
	AnnotationBackedUpAt = "captf.io/backed-up-at" // RFC 3339
)
