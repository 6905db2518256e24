"""The dossier of a study: what ethics boards, data-protection officers and reviewers want to see, all computed."""
