"""Components, texts and colours that several pages share."""
