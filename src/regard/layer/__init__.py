"""Parts that encoders and decoders share. They know neither memories nor attention."""
